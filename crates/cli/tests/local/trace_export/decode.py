"""Reads a trace by the schema that Perfetto publishes, and says in JSON what is in it."""

import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema


def unknown(message):
    """How many fields of it, and of what is in it, the schema doesn't know."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            parts = value if hasattr(value, "__len__") else [value]
            count += sum(unknown(part) for part in parts)
    return count


trace = schema.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
names, details, tracks, open_slices = {}, {}, {}, {}
stages, causes, flows, counters, slices, disorder = {}, {}, {}, {}, 0, 0
# When a block's sending began and its receiving ended, at the earliest and at the latest that the
# clocks' errors allow.
sent, come = {}, {}
for packet in trace.packet:
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    for name in packet.interned_data.debug_annotation_names:
        details[name.iid] = name.name
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if not packet.HasField("track_event"):
        continue
    event, at = packet.track_event, packet.timestamp
    track = tracks[event.track_uuid]
    if event.type == event.TYPE_COUNTER:
        counters[track.name] = event.counter_value
    elif event.type == event.TYPE_SLICE_END:
        begin = open_slices.pop(event.track_uuid)
        disorder += begin[0] > at
        for flow in begin[2]:
            come[flow] = at + begin[3]
        if begin[1] is not None:
            causes[begin[1]] = causes.get(begin[1], 0) + at - begin[0]
    else:
        if event.type == event.TYPE_SLICE_BEGIN:
            disorder += event.track_uuid in open_slices
            error = sum(
                annotation.uint_value
                for annotation in event.debug_annotations
                if details[annotation.name_iid] == "clock_error_ns"
            )
            arrives = list(event.terminating_flow_ids)
            open_slices[event.track_uuid] = (at, event.name or None, arrives, error)
            sent.update((flow, at - error) for flow in event.flow_ids)
            slices += 1
        if event.name:
            continue
        sums = stages.setdefault(names[event.name_iid], {"busy_ns": 0, "bytes": 0, "blocks": 0})
        for annotation in event.debug_annotations:
            detail = details[annotation.name_iid]
            if detail in sums:
                sums[detail] += annotation.uint_value
        for flow in event.flow_ids:
            flows.setdefault(flow, [0, 0])[0] += 1
        for flow in event.terminating_flow_ids:
            flows.setdefault(flow, [0, 0])[1] += 1
processes = [track.process.process_name for track in tracks.values() if track.HasField("process")]
early = sum(1 for flow, at in sent.items() if come.get(flow, at) < at)
whole = sum(1 for begins, ends in flows.values() if begins and ends)
json.dump(
    {
        "unknown": unknown(trace),
        "processes": processes,
        "stages": stages,
        "causes": causes,
        "early": early,
        "slices": slices,
        "disorder": disorder + len(open_slices),
        "flows": whole,
        "ends": len(flows) - whole,
        "counters": counters,
    },
    sys.stdout,
)
