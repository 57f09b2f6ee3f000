# Small programs that show one cause of interference each.
noinst_PROGRAMS += examples/causes/quiet examples/causes/shared-file
examples_causes_quiet_SOURCES = examples/causes/quiet.c
examples_causes_shared_file_SOURCES = examples/causes/shared-file.c
examples_causes_shared_file_LDADD = -lpthread
