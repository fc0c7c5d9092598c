"""The nouns: dataclasses without I/O."""
