"""A network of PyTorch on a CUDA device: graph_of(NETWORK, INPUTS) captures one run, median_ms(RUN, SECONDS) times calls."""

import statistics
import time

import torch


def graph_of(network, inputs):
    """A CUDA graph of one run; raises RuntimeError where the network waits for the device in between."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            network(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        network(*inputs)
    return graph


def median_ms(run, seconds):
    """The median of calls that wait for the device each, for that many seconds after ten calls to warm up."""
    for _ in range(10):
        run()
    torch.cuda.synchronize()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)
