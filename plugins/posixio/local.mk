# The user tracer.
