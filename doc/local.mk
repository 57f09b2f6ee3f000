# Man pages and pages.
dist_man_MANS += doc/man/sci-record.1
dist_doc_DATA += doc/pipeline.md
