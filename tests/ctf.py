# Kernel traces as LTTng writes them (CTF), made by babeltrace2.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

try:
    import bt2
except ImportError:
    print("skipped: python3-bt2 is not installed")
    sys.exit(77)

OFFSET_S = 1700000000  # of the clock to the time of day
SIGNED = {"fd", "dfd", "ret", "error", "offset"}
TEXT = {"filename", "comm", "next_comm", "child_comm", "name", "procname"}


class Events(bt2._UserMessageIterator):
    """The events of the source's list: (ns, cpu, name, {field: value}[, (pid, tid, comm)])."""

    def __init__(self, config, port):
        trace_class, stream_class, clock, events, context, host = port.user_data
        trace = trace_class(environment={"hostname": host} if host else None)
        self.messages = []
        classes = {}
        streams = {}
        for cpu in sorted({e[1] for e in events}):
            streams[cpu] = trace.create_stream(stream_class)
            self.messages.append(self._create_stream_beginning_message(streams[cpu]))
        packets = {}
        for cpu, stream in streams.items():
            packets[cpu] = stream.create_packet()
            packets[cpu].context_field["cpu_id"] = cpu
            self.messages.append(self._create_packet_beginning_message(packets[cpu], events[0][0]))
        for ns, cpu, name, fields, *who in events:
            if name == "discarded":
                self.messages.append(self._create_packet_end_message(packets[cpu], ns))
                self.messages.append(self._create_discarded_events_message(
                    streams[cpu], fields["n"], ns, events[-1][0]))
                packets[cpu] = streams[cpu].create_packet()
                packets[cpu].context_field["cpu_id"] = cpu
                self.messages.append(self._create_packet_beginning_message(packets[cpu], ns))
                continue
            if name not in classes:
                payload = trace_class.create_structure_field_class()
                for field in fields:
                    payload += [(field, trace_class.create_string_field_class() if field in TEXT
                                 else trace_class.create_signed_integer_field_class(64)
                                 if field in SIGNED
                                 else trace_class.create_unsigned_integer_field_class(64))]
                classes[name] = stream_class.create_event_class(name=name,
                                                                payload_field_class=payload)
            message = self._create_event_message(classes[name], packets[cpu],
                                                 default_clock_snapshot=ns)
            for field, value in fields.items():
                message.event.payload_field[field] = value
            if context:
                pid, tid, comm = who[0]
                common = message.event.common_context_field
                common["pid"], common["tid"], common["procname"] = pid, tid, comm
            self.messages.append(message)
        last = events[-1][0]
        for cpu, stream in streams.items():
            self.messages.append(self._create_packet_end_message(packets[cpu], last))
            self.messages.append(self._create_stream_end_message(stream))

    def __next__(self):
        if not self.messages:
            raise StopIteration
        return self.messages.pop(0)


@bt2.plugin_component_class
class Source(bt2._UserSourceComponent, message_iterator_class=Events):
    def __init__(self, config, params, obj):
        events, context, host = obj
        trace_class = self._create_trace_class()
        clock = self._create_clock_class(name="monotonic", frequency=1000000000,
                                         offset=bt2.ClockClassOffset(OFFSET_S, 0),
                                         origin_is_unix_epoch=True)
        packet = trace_class.create_structure_field_class()
        packet += [("cpu_id", trace_class.create_unsigned_integer_field_class(32))]
        common = None
        if context:
            common = trace_class.create_structure_field_class()
            common += [("pid", trace_class.create_signed_integer_field_class(32)),
                       ("tid", trace_class.create_signed_integer_field_class(32)),
                       ("procname", trace_class.create_string_field_class())]
        stream_class = trace_class.create_stream_class(
            default_clock_class=clock, supports_packets=True,
            packets_have_beginning_default_clock_snapshot=True,
            packets_have_end_default_clock_snapshot=True,
            supports_discarded_events=True, discarded_events_have_default_clock_snapshots=True,
            packet_context_field_class=packet, event_common_context_field_class=common)
        self._add_output_port("out", (trace_class, stream_class, clock, events, context, host))


def write(path, events, context, host=None):
    """The trace PATH of EVENTS, with pid, tid and procname as CONTEXT of each or not; of HOST."""
    graph = bt2.Graph()
    source = graph.add_component(Source, "source", obj=(events, context, host))
    sink = graph.add_component(bt2.find_plugin("ctf").sink_component_classes["fs"], "sink",
                               params={"path": path, "assume-single-trace": True, "quiet": True})
    graph.connect_ports(source.output_ports["out"], list(sink.input_ports.values())[0])
    graph.run()
    return path
