// A loaded model: the graph after load-time passes, its raw constants (mapped) and their packed
// forms.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "exec/packed_store.h"
#include "ir/graph.h"
#include "planner/plan_book.h"
#include "runtime/package/package.h"
#include "tensor/compact_floats.h"

namespace fettle::runtime {

struct LoadOptions {
  /// Refuses packages whose plan was made on another device (kDeviceUnavailable) or by another
  /// version (kVersionMismatch). Otherwise a warning says so, and the model is planned anew.
  bool strict = false;
  /// Initialisers that are graph inputs too and whose values every run gives: they become inputs.
  /// Other names, and packages, are not affected.
  std::vector<std::string> overridden;
  /// The values that the caller will ask for; empty: all outputs. Another output is left out, with
  /// a warning, where an unsupported operator leads to it. Not for packages.
  std::vector<std::string> outputs;
  /// For looking at a model that cannot run: each result of an unsupported operator becomes an
  /// input of floats of unknown shape. Not for packages.
  bool unsupported_are_inputs = false;
  /// The devices beside the CPU that sessions will have, in their order, for packages made for
  /// them.
  std::vector<const Device*> accelerators;
  /// Called where there are none yet and the model is a package: the package's device may decide.
  std::function<const Device*(const PackageInfo& info)> find_accelerator;
  /// Rounds the weights of products to that form behind all passes (passes::RoundWeights), with a
  /// warning that gives the loss. Packages then store them so. Not for packages that are read.
  std::optional<CompactForm> weights;
  /// Sign(0) is 1 where that makes a convolution or product one of bits
  /// (passes::MakeSignsLenient). Not of packages.
  bool binary_lenient = false;
};

/// Reads files that are no packages, and what callers have in memory: as onnx::ImportFile and
/// onnx::ImportBytes do.
struct Importer {
  Result<ir::Graph> (*file)(const std::string& path, std::vector<std::string>* warnings,
                            const LoadOptions& options);
  Result<ir::Graph> (*bytes)(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             const std::string& name, std::vector<std::string>* warnings,
                             const LoadOptions& options);
};

/// Immutable after loading and thread-safe; any number of sessions share it, its mapped file and
/// its packed weights.
class Model {
 public:
  /// Reads an ONNX file or a package, whatever its name. Fails with kNotFound, kIo, kInvalidModel,
  /// kUnsupported naming every unsupported operator, or as Package::Open does.
  static Result<std::shared_ptr<const Model>> Load(const std::string& path,
                                                   const LoadOptions& options = {});
  /// The same from memory, which is copied. `name` starts error messages. External data is refused.
  static Result<std::shared_ptr<const Model>> LoadBytes(std::span<const std::byte> bytes,
                                                        std::string name,
                                                        const LoadOptions& options = {});
  /// Both, with what reads anything but a package.
  static Result<std::shared_ptr<const Model>> LoadWith(const Importer& importer,
                                                       const std::string& path,
                                                       const LoadOptions& options);
  static Result<std::shared_ptr<const Model>> LoadBytesWith(const Importer& importer,
                                                            std::span<const std::byte> bytes,
                                                            std::string name,
                                                            const LoadOptions& options);
  /// A model made in memory; `graph` as an importer leaves it.
  static Result<std::shared_ptr<const Model>> FromGraph(ir::Graph graph, std::string name);

  const std::string& name() const { return name_; }
  /// After load-time passes; inputs and outputs keep their names, types and symbolic extents (-1
  /// with a symbol).
  const ir::Graph& graph() const { return *graph_; }
  std::shared_ptr<const ir::Graph> shared_graph() const { return graph_; }
  /// As imported, before any pass: every value of the file still has its name. Of a package, the
  /// same as graph(): values that passes removed are gone.
  const ir::Graph& imported_graph() const { return *imported_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Bytes of all constants, repeated ones counted at full size.
  int64_t weight_bytes() const { return weight_bytes_; }
  /// Elements of all constants.
  int64_t parameters() const { return parameters_; }
  exec::PackedStore& packed() const { return packed_; }
  /// Plans for this model on this device, from its package; null where it has none.
  const std::shared_ptr<const planner::PlanBook>& plans() const { return plans_; }
  /// Where the model comes from a package; null otherwise.
  const Package* package() const { return package_.get(); }

 private:
  Model() = default;
  Status TakeImported(ir::Graph imported, const LoadOptions& options);
  Status TakePackage(std::shared_ptr<const Package> package, const LoadOptions& options);
  void CountWeights();

  std::string name_;
  std::shared_ptr<const Package> package_;
  std::shared_ptr<const planner::PlanBook> plans_;
  std::shared_ptr<const ir::Graph> imported_, graph_;
  std::vector<std::string> warnings_;
  int64_t weight_bytes_ = 0, parameters_ = 0;
  mutable exec::PackedStore packed_;
};

/// Checks that extents of one symbol are equal in the shapes of all inputs, which are in the
/// graph's order and fit the inputs one by one. kInvalidArgument naming both inputs.
Status CheckSymbols(const ir::Graph& graph, std::span<const Shape> shapes);

/// Concrete shapes for all inputs of `model`: those of `given` (by input name), and for symbolic
/// extents left over the rule of docs/cli.md: axis 0, and any other extent of the same symbol, is
/// 1, others the smallest of 1, 32, 64, 128, 224, 256, 320, 512, 576, 1024 at which all shapes
/// infer non-empty; each choice adds a warning. Where nothing is open, or an extent that is given
/// is 0, shapes may infer empty. Fails with kInvalidArgument on unknown names and shapes that
/// contradict the model or each other.
Result<std::map<std::string, Shape>> DefaultShapes(const Model& model,
                                                   const std::map<std::string, Shape>& given,
                                                   std::vector<std::string>* warnings);

}  // namespace fettle::runtime
