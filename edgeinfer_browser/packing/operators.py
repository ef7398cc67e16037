"""The operators of a graph: walked through, and looked up in ONNX Runtime's own table of those it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

import onnx
from onnx import GraphProto, NodeProto

from edgeinfer_browser.errors import GraphError


def check_operators(model: onnx.ModelProto, name: str) -> None:
    """Refuse operators that ONNX Runtime does not have in the opset that the graph imports.

    Raises:
        GraphError: names each of them, its domain and opset, how many nodes there are and the first one.
    """
    opsets = {_domain(entry.domain): entry.version for entry in model.opset_import}
    local = {(_domain(function.domain), function.name) for function in model.functions}
    unknown: dict[str, list[NodeProto]] = defaultdict(list)
    for node in all_nodes(model.graph):
        if (_domain(node.domain), node.op_type) not in local:
            complaint = _complaint(node, opsets)
            if complaint:
                unknown[complaint].append(node)
    if unknown:
        listed = "; ".join(
            f"{what}: {len(nodes)} node{'s' * (len(nodes) > 1)}, the first is {nodes[0].name or '(unnamed)'!r}"
            for what, nodes in unknown.items()
        )
        raise GraphError(
            f"{name} has operators that ONNX Runtime {_version()} cannot run: {listed}. Export the model with standard "
            "operators (opset 17 to 21 suit browsers), or replace those nodes.",
            operators=sorted({node.op_type for nodes in unknown.values() for node in nodes}),
        )


def all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Every node, of the graph and of the graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from all_nodes(inner)


def rename(graph: GraphProto, old: str, new: str) -> None:
    """Give a tensor another name wherever nodes write or read it; one that had the new name moves away."""
    names = {old: new, new: f"{new}_before"} if old != new else {}
    for node in all_nodes(graph):
        for place in (node.input, node.output):
            for index, name in enumerate(place):
                place[index] = names.get(name, name)


def _complaint(node: NodeProto, opsets: Mapping[str, int]) -> str | None:
    domain = _domain(node.domain)
    where = f"domain {domain or 'ai.onnx'}"
    if domain not in opsets:
        return f"{node.op_type} ({where}, which the graph does not import)"
    since = _schemas().get((domain, node.op_type))
    if since is None:
        return f"{node.op_type} ({where}, opset {opsets[domain]})"
    if min(since) > opsets[domain]:
        return f"{node.op_type} ({where}, there from opset {min(since)} on, the graph imports {opsets[domain]})"
    return None


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


@cache
def _schemas() -> Mapping[tuple[str, str], list[int]]:
    """(domain, operator) -> the opset versions that ONNX Runtime's build has it in."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for schema in get_all_operator_schema():
        found[_domain(schema.domain), schema.name].append(schema.since_version)
    return found


def _version() -> str:
    import onnxruntime

    return str(onnxruntime.__version__)
