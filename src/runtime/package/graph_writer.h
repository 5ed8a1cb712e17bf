// Graphs into the index of a package.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "runtime/package/index_generated.h"
#include "runtime/package/section_list.h"

namespace fettle::runtime::package {

/// Serialises one graph with its sub-graphs. Small constants go into the index, large ones to
/// `sections`. Both must outlive the writer.
class GraphWriter {
 public:
  GraphWriter(flatbuffers::FlatBufferBuilder& builder, SectionList& sections)
      : builder_(builder), sections_(sections) {}

  /// Fails with kUnsupported on what a package cannot hold (sub-graphs nested too deep), or as
  /// reading a constant does.
  Status Write(const ir::Graph& graph);

  const std::vector<flatbuffers::Offset<index::Graph>>& graphs() const { return graphs_; }
  const std::vector<flatbuffers::Offset<index::Constant>>& constants() const { return constants_; }
  /// Constant::Hash of constants that will have another one once they are read back: computed
  /// elements are stored.
  const std::unordered_map<uint64_t, uint64_t>& renamed() const { return renamed_; }

 private:
  struct Waiting {
    const ir::Graph* graph;
    int depth;
  };
  using Strings =
      flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>>;

  Status WriteGraph(const Waiting& waiting);
  Result<flatbuffers::Offset<index::Value>> WriteValue(const ir::Value& value);
  Result<flatbuffers::Offset<index::Node>> WriteNode(const ir::Node& node, int depth);
  Result<flatbuffers::Offset<index::Attribute>> WriteAttribute(const std::string& name,
                                                               const ir::Attribute& attribute,
                                                               int depth);
  Result<uint32_t> AddConstant(const Constant& constant);
  Result<int32_t> AddShared(const std::shared_ptr<const Constant>& constant);
  Strings WriteTexts(const std::vector<std::string>& texts);

  flatbuffers::FlatBufferBuilder& builder_;
  SectionList& sections_;
  std::vector<flatbuffers::Offset<index::Graph>> graphs_;
  std::vector<flatbuffers::Offset<index::Constant>> constants_;
  std::vector<Waiting> waiting_;  // in the order of their indices
  std::unordered_map<const Constant*, uint32_t> shared_;
  std::unordered_map<uint64_t, uint64_t> renamed_;
};

}  // namespace fettle::runtime::package
