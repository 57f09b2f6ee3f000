# The kernel tracer.
if HAVE_BPF
endif
