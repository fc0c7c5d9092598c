"""Pure functions over strings: no disk, no clock, no harness."""
