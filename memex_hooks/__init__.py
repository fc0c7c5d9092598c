"""The harnesses: reading their session logs, their hooks, their settings. Memory itself is memex_core's
affair.
"""
