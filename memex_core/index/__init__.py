"""The deletable finder: everything in it is derived from the files and can be built again from
them at any time.
"""
