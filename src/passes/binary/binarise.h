// Convolutions and products of two-valued tensors, run on bits.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Replaces each Conv, MatMul, Gemm and, phase by phase, ConvTranspose whose operands are proven
/// two-valued by a BinaryConv or BinaryMatMul of packed bits, with the same results bit for bit.
/// Where the operators behind it give two values again (batch normalisation and a comparison), and
/// only such products and maxima read them, integer thresholds decide the results, which stay bits.
/// True if anything changed.
Result<bool> Binarise(ir::Graph& graph);

/// A convolution or product of `graph` after the passes, and whether it runs on bits.
struct BinaryFact {
  ir::NodeId node = -1;
  bool is_binary = false;
  std::string text;  // how, or why not
};
std::vector<BinaryFact> ListBinary(const ir::Graph& graph);

/// The nodes of the file (ir::Node::source_index) that Binarise will take, of a graph as imported.
Result<std::set<int>> ProductsOfBits(ir::Graph graph);

}  // namespace fettle::passes
