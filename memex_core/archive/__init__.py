"""Memory that leaves and comes back: backup and restore, export and import. One file per direction pair."""
