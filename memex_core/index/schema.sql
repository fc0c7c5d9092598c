-- mem.db, schema version 3 (seed 000 §6.2; DESIGN §3 rows FTS, slug). Derived: delete the file at any time.

CREATE TABLE index_meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row a page, known by its path relative to the memory root; a slug is unique only within its folder. Items
-- of RecallFiles and events of the diary are rows as well (index/block_rows.py), under ids of their own ranges.
CREATE TABLE wiki_index (
    page_id           INTEGER PRIMARY KEY,
    path              TEXT NOT NULL UNIQUE,
    id                TEXT NOT NULL,
    slug              TEXT NOT NULL,
    slug_key          TEXT NOT NULL,              -- what links say for the slug: text.links.name_key
    title             TEXT NOT NULL,
    title_key         TEXT NOT NULL,
    node_type         TEXT NOT NULL,
    importance        REAL NOT NULL,
    tags              TEXT NOT NULL,              -- JSON array
    links             TEXT NOT NULL,              -- JSON array
    sources           TEXT NOT NULL,              -- JSON array
    created           TEXT NOT NULL,
    updated           TEXT NOT NULL,
    access_count      INTEGER NOT NULL,           -- own_access_count and what recalls.jsonl adds
    last_access       TEXT,
    own_access_count  INTEGER NOT NULL,           -- as the page says
    own_last_access   TEXT,
    expires_at        TEXT,
    valid_from        TEXT,
    valid_to          TEXT,
    content_hash      TEXT NOT NULL,
    transcript_ref    TEXT,
    project           TEXT,
    project_label     TEXT,
    session_id        TEXT,
    harness           TEXT,
    kind              TEXT,
    started_at        TEXT,
    ended_at          TEXT,
    origin            TEXT,                       -- path of the item that the page was imported from
    warning           TEXT NOT NULL,
    moment            REAL NOT NULL,              -- seconds: updated; for episodes started_at
    expires_s         REAL,                       -- seconds: the first moment at which the page no longer holds
    valid_from_s      REAL,
    digest            TEXT NOT NULL               -- of all rows of the page, for the health check
);
CREATE INDEX idx_wiki_index_type ON wiki_index (node_type);
CREATE INDEX idx_wiki_index_updated ON wiki_index (updated);
CREATE INDEX idx_wiki_index_importance ON wiki_index (importance);
CREATE INDEX idx_wiki_index_access ON wiki_index (last_access);
CREATE INDEX idx_wiki_index_slug ON wiki_index (slug);
CREATE INDEX idx_wiki_index_slug_key ON wiki_index (slug_key);
CREATE INDEX idx_wiki_index_title_key ON wiki_index (title_key);
CREATE INDEX idx_wiki_index_project ON wiki_index (project);
CREATE INDEX idx_wiki_index_moment ON wiki_index (moment);
CREATE INDEX idx_wiki_index_validity ON wiki_index (expires_s, valid_from_s)
    WHERE expires_s IS NOT NULL OR valid_from_s IS NOT NULL;
CREATE INDEX idx_wiki_index_origin ON wiki_index (origin) WHERE origin IS NOT NULL;
CREATE INDEX idx_wiki_index_warning ON wiki_index (path) WHERE warning <> '';

-- rowid = wiki_index.page_id; `extra` holds what the tokenizer would not find: text.query_terms.index_terms.
CREATE VIRTUAL TABLE wiki_fts USING fts5 (
    slug,
    title,
    body,
    tags,
    extra,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);
CREATE VIRTUAL TABLE wiki_terms USING fts5vocab ('wiki_fts', 'instance');
CREATE VIRTUAL TABLE wiki_term_counts USING fts5vocab ('wiki_fts', 'row');

-- Narrow, because a query reads it for every page that matches: the length of body and extra in words.
CREATE TABLE page_lengths (
    page_id INTEGER PRIMARY KEY,
    length  INTEGER NOT NULL
);

-- What a score needs of all of them, kept by the triggers: by kind, which is the id's range (index/kinds.py).
CREATE TABLE corpus (
    kind      INTEGER PRIMARY KEY,
    documents INTEGER NOT NULL,
    words     INTEGER NOT NULL
);
INSERT INTO corpus VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0);
CREATE TRIGGER page_lengths_added AFTER INSERT ON page_lengths BEGIN
    UPDATE corpus SET documents = documents + 1, words = words + new.length WHERE kind = new.page_id >> 40;
END;
CREATE TRIGGER page_lengths_gone AFTER DELETE ON page_lengths BEGIN
    UPDATE corpus SET documents = documents - 1, words = words - old.length WHERE kind = old.page_id >> 40;
END;

-- What an item or event is beyond a page's columns. A file's blocks are compared by their hashes.
CREATE TABLE blocks (
    page_id     INTEGER PRIMARY KEY,
    file        TEXT NOT NULL,                    -- path of the file that holds it
    place       INTEGER NOT NULL,                 -- events: which of the day's file, from 0; items: 0
    heading     TEXT NOT NULL,                    -- an item's name, an event's time of day
    hash        TEXT NOT NULL,
    owner       TEXT,
    source_conv TEXT
);
CREATE INDEX idx_blocks_file ON blocks (file, place);

CREATE TABLE page_tags (
    tag     TEXT NOT NULL,                        -- case folded
    page_id INTEGER NOT NULL,
    PRIMARY KEY (tag, page_id)
) WITHOUT ROWID;
CREATE INDEX idx_page_tags_page ON page_tags (page_id);

-- The key's columns lead in every table WITHOUT ROWID: else quick_check of SQLite 3.40 sees NULLs that are none.
-- Key columns first: the quick_check of SQLite 3.40 takes another order for damage.
CREATE TABLE wiki_links (
    source_path TEXT NOT NULL,
    target_slug TEXT NOT NULL,                    -- text.links.link_key; resolved when asked for
    source_slug TEXT NOT NULL,
    PRIMARY KEY (source_path, target_slug)
) WITHOUT ROWID;
CREATE INDEX idx_wiki_links_source ON wiki_links (source_slug);
CREATE INDEX idx_wiki_links_target ON wiki_links (target_slug);

-- [[file:item]] links, of pages, items and events.
CREATE TABLE item_links (
    source_path TEXT NOT NULL,
    target_path TEXT NOT NULL,                    -- of the item, which may not exist
    place       INTEGER NOT NULL,                 -- which of the source's links
    page_key    TEXT NOT NULL,                    -- what the same words mean as a link to a page
    PRIMARY KEY (source_path, target_path)
) WITHOUT ROWID;
CREATE INDEX idx_item_links_target ON item_links (target_path);
CREATE INDEX idx_item_links_page_key ON item_links (page_key);

CREATE TABLE recall_counts (
    path        TEXT PRIMARY KEY,
    count       INTEGER NOT NULL,
    last_access TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
    session_id    TEXT PRIMARY KEY,
    path          TEXT NOT NULL UNIQUE,           -- of the sidecar
    harness       TEXT NOT NULL,
    kind          TEXT NOT NULL,
    started_at    TEXT NOT NULL,
    ended_at      TEXT NOT NULL,
    born_at       TEXT NOT NULL,
    turn_count    INTEGER NOT NULL,
    title         TEXT NOT NULL,
    project       TEXT NOT NULL,
    project_label TEXT NOT NULL,
    total_tokens  INTEGER,
    digest        TEXT NOT NULL                   -- of this row and its responses, for the health check
) WITHOUT ROWID;
CREATE INDEX idx_sessions_started ON sessions (started_at);

CREATE TABLE session_responses (
    response_id TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    PRIMARY KEY (response_id, session_id)
) WITHOUT ROWID;
-- The files that a session was read from; a log may be named for another session.
CREATE TABLE session_sources (
    path       TEXT PRIMARY KEY,
    session_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_session_sources_session ON session_sources (session_id);
CREATE INDEX idx_session_responses_session ON session_responses (session_id);

-- What the index has seen of each file, pages and sidecars alike (DESIGN §4 Index).
CREATE TABLE indexed_files (
    path     TEXT PRIMARY KEY,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    ino      INTEGER NOT NULL,
    racy     INTEGER NOT NULL,                    -- 1: changed so shortly before that the stamp proves nothing
    sha256   TEXT NOT NULL,
    problem  TEXT NOT NULL
) WITHOUT ROWID;
