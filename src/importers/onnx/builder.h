// Builds the graph of one model from its records.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "importers/onnx/external.h"
#include "importers/onnx/importer.h"
#include "importers/onnx/report.h"
#include "importers/onnx/scope.h"
#include "importers/onnx/wire.h"
#include "ir/graph.h"
#include "ops/import.h"

namespace fettle::onnx {

/// Attribute values by name: those that the caller of a function gave it.
using AttributeMap = std::map<std::string_view, ir::Attribute>;

/// Where nodes are being imported: the main graph, or the body of a function that is being
/// expanded.
struct Frame {
  const std::vector<OpsetImport>* opsets = nullptr;
  const Frame* caller = nullptr;
  const FunctionRecord* function = nullptr;
  const AttributeMap* attributes = nullptr;  // of the function
  std::string prefix;                        // before the names of nodes and values
  int index = -1;                            // of the calling node in the main graph
  int depth = 0;                             // of functions and sub-graphs
  bool needed = true;                        // whether an output that is asked for follows
};

/// One import; used once.
class GraphBuilder {
 public:
  /// The records must outlive the builder; `owner` keeps the bytes behind them alive and goes into
  /// the constants.
  GraphBuilder(const ModelRecord& model, size_t file_bytes, std::shared_ptr<const void> owner,
               ExternalFiles* external, const ImportOptions& options);

  /// Messages do not name the file.
  Result<ir::Graph> Build();
  /// Lines about parts that the graph lacks but no requested output needs.
  std::vector<std::string> LeftOut() const;

 private:
  /// Domain, operator, overload.
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  struct SubGraphs;

  Status AddInputs(const GraphRecord& record, bool is_main, Scope* scope);
  Status AddInitializers(const GraphRecord& record, bool is_main, Scope* scope);
  /// Initialisers of the main graph that are inputs because the caller gives their values.
  std::unordered_set<std::string_view> OverriddenInitializers() const;
  Status AddOutput(const NamedRecord& record, bool is_main, UnsupportedReport& report,
                   Scope* scope);
  Status IndexFunctions();
  Status AddOutputs(const GraphRecord& record, bool is_main, UnsupportedReport& report,
                    Scope* scope);
  /// The names in options_.outputs, or of all outputs.
  std::vector<std::string_view> AskedFor() const;
  bool IsAskedFor(std::string_view output) const;

  /// Where an unsupported node is reported; not a failure where no output needs it.
  UnsupportedReport& ReportOf(const Frame& frame) { return frame.needed ? report_ : unneeded_; }
  /// `outputs` are names that have to be known behind the last node.
  Status ImportNodes(const std::vector<NodeRecord>& nodes,
                     std::span<const std::string_view> outputs, const Frame& frame, Scope* scope);
  Status ImportNode(const NodeRecord& node, size_t index, const Frame& frame, Scope* scope);
  /// The node's operands, none refused; false where one was (reported, outputs refused). With
  /// `sequences` an operand may be one: its entry there is then not null.
  Result<bool> ReadOperands(const NodeRecord& node, const Frame& frame, Scope* scope,
                            std::vector<ir::ValueId>* ids, std::vector<SharedSequence>* sequences);
  Status RunRule(ops::NeutralNode& neutral, const NodeRecord& node, const Frame& frame,
                 Scope* scope);
  /// Whether the node takes or makes sequences.
  static bool IsOfSequences(const NodeRecord& node, Scope* scope);
  Status RunSequenceRule(ops::NeutralNode& neutral, const std::vector<SharedSequence>& sequences,
                         const NodeRecord& node, const Frame& frame, Scope* scope);
  Result<ir::ValueId> MakeConstant(const NodeRecord& node, const Frame& frame, Scope* scope);
  Status BindOutputs(const NodeRecord& node, const std::vector<ir::ValueId>& bound,
                     const Frame& frame, Scope* scope);
  Status RefuseOutputs(const NodeRecord& node, const Frame& frame, Scope* scope);
  /// The placeholder of a value that cannot be computed.
  Binding Missing(std::string_view name, const Frame& frame, Scope* scope);
  /// Whether it becomes an input (options_.unsupported_are_inputs).
  bool IsLookedAt(const Frame& frame, const Scope& scope) const;
  /// The file's type and shape of a value of the main graph; floats of unknown shape where the file
  /// has none.
  ir::Value Described(std::string_view name);
  void IndexDescriptions();
  /// Makes the operands of a refused node graph outputs, so that what leads to them stays.
  void KeepOperands(const NodeRecord& node, Scope* scope);

  /// Values of all attributes but sub-graphs; references are resolved.
  Result<AttributeMap> ReadAttributes(const NodeRecord& node, const Frame& frame);
  Result<ir::Attribute> ReadAttribute(const AttributeRecord& record, const Frame& frame);
  Status ImportSubGraphs(const NodeRecord& node, const Frame& frame, Scope* scope,
                         ops::NeutralNode* neutral);

  Status ExpandFunction(const FunctionRecord& function, const NodeRecord& node, size_t index,
                        const Frame& frame, Scope* scope);
  Status CheckCall(const FunctionRecord& function, const Frame& frame);
  Status BindArguments(const FunctionRecord& function, const NodeRecord& node, Scope* outer,
                       Scope* inner);
  Status BindResults(const FunctionRecord& function, const NodeRecord& node, const Frame& frame,
                     ir::ValueId first_inner, Scope* outer, Scope* inner);
  /// Counts what functions and sequences copy against a limit that follows the file's size.
  Status Spend(size_t bytes);

  const FunctionRecord* FindFunction(const NodeRecord& node) const;
  int64_t OpsetOf(std::string_view domain, const Frame& frame) const;

  const ModelRecord& model_;
  std::shared_ptr<const void> owner_;
  ExternalFiles* external_;
  const ImportOptions& options_;
  const ir::Graph* main_ = nullptr;  // while it is built
  std::map<Key, const FunctionRecord*> functions_;
  std::map<const char*, ir::Attribute> function_tensors_;
  UnsupportedReport report_, unneeded_;
  std::vector<std::string> left_out_;  // outputs
  /// ValueInfoProtos of the main graph by name, once one is asked for.
  std::unordered_map<std::string_view, std::string_view> descriptions_;
  /// Of the main graph: its inputs, and the outputs that operands of refused nodes became.
  std::unordered_set<ir::ValueId> given_, kept_;
  size_t nodes_ = 0;
  size_t budget_;
};

}  // namespace fettle::onnx
