"""Thought: values in, values out. No files, no database, no model."""
