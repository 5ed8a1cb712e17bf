// From an ONNX model to a graph of canonical operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::onnx {

struct ImportOptions {
  /// Initialisers that are graph inputs too and become inputs like any other. Other names change
  /// nothing.
  std::span<const std::string> overridden;
  /// The values that the caller will ask for; empty: all outputs. Another output is left out, with
  /// a line in `warnings`, where an unsupported operator leads to it.
  std::span<const std::string> outputs;
  /// For looking at a model that cannot run: each result of an unsupported operator becomes a graph
  /// input of floats of unknown shape.
  bool unsupported_are_inputs = false;
};

/// Imports the model in the file `path`. Initialisers stay in the file, which stays mapped for as
/// long as a constant of the graph lives; external data must lie inside the file's folder. The
/// graph is in topological order and passes ir::Verify; types and shapes are known for inputs,
/// outputs and constants only. Node and value names are those of the file; inside a model-local
/// function they start with the name of the calling node and '/'.
///
/// Accepted: IR versions 3 to 14 and opsets 7 to 28; older ones, and a newer IR version, are tried
/// and a line is added to `warnings` (may be null). Any bytes are safe to pass.
///
/// An initialiser that is a graph input too is a constant, unless options.overridden names it. A
/// graph output that is listed twice is there once. A graph input of a type that Fettle does not
/// have is left out where no node reads it, a node of an unsupported operator where no output needs
/// it, with a line in `warnings`.
///
/// Fails with kNotFound, kIo, kInvalidModel, kOutOfMemory, or with one kUnsupported that names all
/// unsupported operators at once that outputs need. Messages start with the file's name, and where
/// a node is to blame, go on with it: `model.onnx: node #12 'up_1' (Resize, opset 13): ...`.
Result<ir::Graph> ImportFile(const std::string& path, std::vector<std::string>* warnings = nullptr,
                             const ImportOptions& options = {});

/// The same from bytes that `owner` keeps alive. `file_name` is for messages; external data is
/// looked for in `external_dir`, and refused where that is empty.
Result<ir::Graph> ImportBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& file_name, const std::string& external_dir,
                              std::vector<std::string>* warnings = nullptr,
                              const ImportOptions& options = {});

/// What a model file says of itself.
struct ModelSummary {
  int64_t ir_version = 0;
  int64_t model_version = 0;
  std::string producer;
  std::string producer_version;
  std::string domain;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain ("ai.onnx", ...), version
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Reads the description alone; the graph is not looked at. Texts are made printable.
Result<ModelSummary> Summarise(const std::string& path);

}  // namespace fettle::onnx
