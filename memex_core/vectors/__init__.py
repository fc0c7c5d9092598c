"""Vectors of what the memory says, from an endpoint that the user configured ([embed]; seed 002, formats page
1.9). Off unless configured; derived: every file of it may be deleted at any time. The only room that loads
numpy.
"""
