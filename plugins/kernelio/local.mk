# The kernel tracer. Without libbpf, clang or bpftool its interface is there and says so.
noinst_LIBRARIES += plugins/kernelio/libkernelio.a
plugins_kernelio_libkernelio_a_CFLAGS = $(AM_CFLAGS)
KERNELIO_LIBS = plugins/kernelio/libkernelio.a eta-ext/libspool.a $(LIBBPF_LIBS) -lpthread
plugins_kernelio_libkernelio_a_SOURCES = \
	plugins/kernelio/backend-names.c \
	plugins/kernelio/counts.c \
	plugins/kernelio/file-systems.h \
	plugins/kernelio/filters.c \
	plugins/kernelio/filters.h \
	plugins/kernelio/functions.h \
	plugins/kernelio/kernelio.h \
	plugins/kernelio/ring-layout.h \
	plugins/kernelio/shared.h \
	plugins/kernelio/syscall-list.h \
	plugins/kernelio/net-mounts.c \
	plugins/kernelio/net-mounts.h \
	plugins/kernelio/wall-clock.c \
	plugins/kernelio/wall-clock.h

bpf_programs = \
	plugins/kernelio/bpf/block.bpf.c \
	plugins/kernelio/bpf/evict.bpf.c \
	plugins/kernelio/bpf/fault.bpf.c \
	plugins/kernelio/bpf/file-lock.bpf.c \
	plugins/kernelio/bpf/fs.bpf.c \
	plugins/kernelio/bpf/function.bpf.c \
	plugins/kernelio/bpf/fuse.bpf.c \
	plugins/kernelio/bpf/listener.bpf.c \
	plugins/kernelio/bpf/neighbour.bpf.c \
	plugins/kernelio/bpf/net.bpf.c \
	plugins/kernelio/bpf/pagecache.bpf.c \
	plugins/kernelio/bpf/request.bpf.c \
	plugins/kernelio/bpf/stop.bpf.c \
	plugins/kernelio/bpf/syscall.bpf.c \
	plugins/kernelio/bpf/task.bpf.c \
	plugins/kernelio/bpf/uring.bpf.c \
	plugins/kernelio/bpf/wait.bpf.c \
	plugins/kernelio/bpf/waking.bpf.c
bpf_headers = \
	plugins/kernelio/bpf/queue-ahead.h \
	plugins/kernelio/bpf/queued.h \
	plugins/kernelio/bpf/recent.h \
	plugins/kernelio/bpf/aio.h \
	plugins/kernelio/bpf/async.h \
	plugins/kernelio/bpf/bio.h \
	plugins/kernelio/bpf/compat.h \
	plugins/kernelio/bpf/dirtied-by.h \
	plugins/kernelio/bpf/disk.h \
	plugins/kernelio/bpf/disk-foreign.h \
	plugins/kernelio/bpf/evict.h \
	plugins/kernelio/bpf/fault.h \
	plugins/kernelio/bpf/file.h \
	plugins/kernelio/bpf/file-lock.h \
	plugins/kernelio/bpf/file-record.h \
	plugins/kernelio/bpf/filter.h \
	plugins/kernelio/bpf/follow.h \
	plugins/kernelio/bpf/group.h \
	plugins/kernelio/bpf/kernel_types.h \
	plugins/kernelio/bpf/known-files.h \
	plugins/kernelio/bpf/late.h \
	plugins/kernelio/bpf/operation.h \
	plugins/kernelio/bpf/owner.h \
	plugins/kernelio/bpf/ring.h \
	plugins/kernelio/bpf/light.h \
	plugins/kernelio/bpf/limits.h \
	plugins/kernelio/bpf/off-cpu.h \
	plugins/kernelio/bpf/wait-limits.h \
	plugins/kernelio/bpf/worker.h \
	plugins/kernelio/bpf/running.h \
	plugins/kernelio/bpf/shares.h \
	plugins/kernelio/bpf/state.h \
	plugins/kernelio/bpf/status.h \
	plugins/kernelio/bpf/stops.h \
	plugins/kernelio/bpf/syncs.h \
	plugins/kernelio/bpf/cpu-history.h plugins/kernelio/bpf/lateness.h \
	plugins/kernelio/bpf/task.h \
	plugins/kernelio/bpf/works-for.h
EXTRA_DIST += $(bpf_programs) $(bpf_headers) \
	plugins/kernelio/asleep.c \
	plugins/kernelio/backend.c \
	plugins/kernelio/backend.h \
	plugins/kernelio/clock-reads.c \
	plugins/kernelio/collect.c \
	plugins/kernelio/definitions.c \
	plugins/kernelio/dirty.c \
	plugins/kernelio/faults.c \
	plugins/kernelio/internal.h \
	plugins/kernelio/iterators.c \
	plugins/kernelio/kernelio.c \
	plugins/kernelio/light.c \
	plugins/kernelio/limits.c \
	plugins/kernelio/map-entries.c \
	plugins/kernelio/listener.c \
	plugins/kernelio/loading.c \
	plugins/kernelio/loading.h \
	plugins/kernelio/loss.c \
	plugins/kernelio/meta.c \
	plugins/kernelio/layouts.c \
	plugins/kernelio/modules.c \
	plugins/kernelio/none.c \
	plugins/kernelio/probes-present.c \
	plugins/kernelio/probes-say.c \
	plugins/kernelio/probes.c \
	plugins/kernelio/probes.h \
	plugins/kernelio/rings.c \
	plugins/kernelio/sleeps.c \
	plugins/kernelio/sleeps.h \
	plugins/kernelio/waking.c \
	plugins/kernelio/worked.c \
	plugins/kernelio/writeback.c

if HAVE_EZTRACE
# `eztrace -t kernelio`
plugin_PROGRAMS += plugins/libeztrace-kernelio.so
plugins_libeztrace_kernelio_so_SOURCES = plugins/kernelio/eztrace-kernelio.c
plugins_libeztrace_kernelio_so_CPPFLAGS = $(AM_CPPFLAGS) -DBIN_DIR='"$(bindir)"'
plugins_libeztrace_kernelio_so_CFLAGS = $(SCI_CFLAGS) -fvisibility=hidden -fPIC
plugins_libeztrace_kernelio_so_LDADD = $(EZTRACE_LIBS) $(OTF2_LIBS)
plugins_libeztrace_kernelio_so_LINK = $(SHARED_LINK)
endif

if HAVE_BPF
plugins_kernelio_libkernelio_a_CFLAGS += $(LIBBPF_CFLAGS)
plugins_kernelio_libkernelio_a_SOURCES += \
	plugins/kernelio/asleep.c \
	plugins/kernelio/clock-reads.c \
	plugins/kernelio/collect.c \
	plugins/kernelio/definitions.c \
	plugins/kernelio/dirty.c \
	plugins/kernelio/backend.c \
	plugins/kernelio/backend.h \
	plugins/kernelio/faults.c \
	plugins/kernelio/internal.h \
	plugins/kernelio/iterators.c \
	plugins/kernelio/kernelio.c \
	plugins/kernelio/light.c \
	plugins/kernelio/limits.c \
	plugins/kernelio/map-entries.c \
	plugins/kernelio/listener.c \
	plugins/kernelio/loading.c \
	plugins/kernelio/loading.h \
	plugins/kernelio/loss.c \
	plugins/kernelio/meta.c \
	plugins/kernelio/layouts.c \
	plugins/kernelio/modules.c \
	plugins/kernelio/probes-present.c \
	plugins/kernelio/probes-say.c \
	plugins/kernelio/probes.c \
	plugins/kernelio/probes.h \
	plugins/kernelio/rings.c \
	plugins/kernelio/sleeps.c \
	plugins/kernelio/sleeps.h \
	plugins/kernelio/waking.c \
	plugins/kernelio/worked.c \
	plugins/kernelio/writeback.c
nodist_plugins_kernelio_libkernelio_a_SOURCES = plugins/kernelio/kernelio.skel.h
BUILT_SOURCES += plugins/kernelio/kernelio.skel.h

# One object per probe group, linked into one, with its loader generated. -mcpu=v3: atomic fetches.
bpf_objects = $(bpf_programs:.c=.o)
# the same bytes wherever it is built: the object has the names of its sources
bpf_cflags = -O2 -g -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Werror \
	-ffile-prefix-map=$(abs_top_srcdir)/= -ffile-prefix-map=$(abs_top_builddir)=.
CLEANFILES += $(bpf_objects) plugins/kernelio/kernelio.bpf.o plugins/kernelio/kernelio.skel.h

SUFFIXES = .bpf.c .bpf.o
.bpf.c.bpf.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(CLANG) $(bpf_cflags) -target bpf -D__TARGET_ARCH_$(BPF_ARCH) \
		-I$(top_srcdir) -I$(top_srcdir)/plugins/kernelio/bpf $(LIBBPF_CFLAGS) \
		$(BPF_SYSTEM_CFLAGS) -c $< -o $@
# every object depends on every header: they are few and it takes a second
$(bpf_objects): $(bpf_headers) plugins/kernelio/file-systems.h plugins/kernelio/filters.h \
	plugins/kernelio/functions.h plugins/kernelio/ring-layout.h plugins/kernelio/shared.h \
	plugins/kernelio/syscall-list.h eta-ext/format/record.h

plugins/kernelio/kernelio.bpf.o: $(bpf_objects)
	$(AM_V_GEN)$(BPFTOOL) gen object $@ $(bpf_objects)

plugins/kernelio/kernelio.skel.h: plugins/kernelio/kernelio.bpf.o
	$(AM_V_GEN)$(BPFTOOL) gen skeleton $< name kernelio_bpf >$@.new && mv $@.new $@
else
plugins_kernelio_libkernelio_a_SOURCES += plugins/kernelio/none.c
endif
