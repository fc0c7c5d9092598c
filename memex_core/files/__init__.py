"""The only road to the disk: atomic writes, the memory lock, and the walk over pages and sidecars."""
