"""Truth: pages, transcripts and the journal, as files."""
