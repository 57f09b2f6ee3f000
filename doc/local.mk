# Man pages and pages.
dist_man_MANS += doc/man/sci-record.1
dist_doc_DATA += doc/building.md doc/fuzzing.md doc/pipeline.md doc/reading.md doc/kernels.md doc/mpi.md doc/overhead.md doc/troubleshooting.md doc/upgrading.md
EXTRA_DIST += doc/images/page.png doc/images/timeline.png

dist_man_MANS += doc/man/sci-posixio.7
dist_doc_DATA += doc/howto-function.md

dist_man_MANS += doc/man/sci-analyze.1 doc/man/sci-analyze-mpi.1
dist_doc_DATA += doc/score.md doc/causes.md doc/harmless.md \
	doc/sci-analyze.schema.json doc/sci-analyze-table.schema.json \
	doc/sci-analyze-1.schema.json doc/sci-analyze-table-1.schema.json

dist_man_MANS += doc/man/sci-merge.1
dist_doc_DATA += doc/spool.md

dist_man_MANS += doc/man/sci-import.1
dist_doc_DATA += doc/howto-source.md doc/logs.md

dist_doc_DATA += doc/archive.md

dist_man_MANS += doc/man/sci-kernel.1
dist_doc_DATA += doc/howto-probe.md doc/virtual-machines.md

dist_man_MANS += doc/man/sci-top.1
dist_doc_DATA += doc/sci-top.schema.json

dist_man_MANS += doc/man/sci-export.1
dist_doc_DATA += doc/howto-export.md doc/library.md

dist_man_MANS += doc/man/sci-plot.1
dist_doc_DATA += doc/experiments.md

# bash and fish look for the completion of a command under its name, zsh for a list of names in it.
completionsdir = $(datadir)/bash-completion/completions
dist_completions_DATA = doc/completions/sci-record
COMPLETED = sci-analyze sci-export sci-import sci-kernel sci-merge sci-plot sci-top
zshdir = $(datadir)/zsh/site-functions
dist_zsh_DATA = doc/completions/_sci
fishdir = $(datadir)/fish/vendor_completions.d
dist_fish_DATA = doc/completions/sci-record.fish
install-data-hook:
	cd $(DESTDIR)$(completionsdir) && for name in $(COMPLETED); do \
		rm -f $$name && $(LN_S) sci-record $$name || exit 1; \
	done
	cd $(DESTDIR)$(fishdir) && for name in $(COMPLETED); do \
		rm -f $$name.fish && $(LN_S) sci-record.fish $$name.fish || exit 1; \
	done
uninstall-hook:
	cd $(DESTDIR)$(completionsdir) 2>/dev/null && rm -f $(COMPLETED) || :
	cd $(DESTDIR)$(fishdir) 2>/dev/null && rm -f $(COMPLETED:=.fish) || :
