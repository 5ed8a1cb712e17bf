#include "runtime/package/graph_writer.h"

#include "runtime/package/format.h"
#include "tensor/compact_floats.h"
#include "tensor/packed_rows.h"

namespace fettle::runtime::package {
namespace {

using flatbuffers::Offset;

/// Whether the elements stand two to a byte in a section.
bool AreNibbles(const Constant& constant) {
  return RowOf(constant.dtype()).bits == 4 && !constant.is_splat() &&
         StorageBytes(constant.dtype(), constant.elements()) > kInlineBytes;
}

index::Contents ContentsOf(CompactForm form) {
  switch (form) {
    case CompactForm::kBits: return index::Contents_Bits;
    case CompactForm::kHalves: return index::Contents_Halves;
    case CompactForm::kBytes: return index::Contents_Bytes;
  }
  return index::Contents_Section;
}

/// What Constant::Hash will be where the elements stand in the file.
Result<uint64_t> StoredHash(const Constant& constant, const std::optional<CompactLayout>& compact) {
  if (compact) {
    ASSIGN_OR_RETURN(const Tensor packed, PackCompact(constant, *compact));
    return FromCompact(constant.shape(), *compact, Constant::FromTensor(packed)).Hash();
  }
  if (AreNibbles(constant)) {
    ASSIGN_OR_RETURN(const Tensor packed, PackNibbles(constant));
    return FromNibbles(constant.dtype(), constant.shape(), Constant::FromTensor(packed)).Hash();
  }
  ASSIGN_OR_RETURN(const Tensor elements, constant.ToTensor());
  return Constant::FromTensor(elements).Hash();
}

}  // namespace

Status GraphWriter::Write(const ir::Graph& graph) {
  waiting_.push_back({&graph, 0});
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const Waiting next = waiting_[i];
    if (next.depth > kMaxDepth)
      return Unsupported("sub-graphs are nested deeper than {}", kMaxDepth);
    RETURN_IF_ERROR(WriteGraph(next));
  }
  return OkStatus();
}

Status GraphWriter::WriteGraph(const Waiting& waiting) {
  const ir::Graph& graph = *waiting.graph;
  std::vector<Offset<index::Value>> values;
  for (const ir::Value& value : graph.values()) {
    ASSIGN_OR_RETURN(values.emplace_back(), WriteValue(value));
  }
  std::vector<Offset<index::Node>> nodes;
  for (const ir::Node& node : graph.nodes()) {
    if (node.dead) continue;
    ASSIGN_OR_RETURN(nodes.emplace_back(), WriteNode(node, waiting.depth));
  }
  const auto name = builder_.CreateString(graph.name);
  const auto inputs = builder_.CreateVector(graph.inputs);
  const auto outputs = builder_.CreateVector(graph.outputs);
  const auto value_list = builder_.CreateVector(values);
  const auto node_list = builder_.CreateVector(nodes);
  graphs_.push_back(index::CreateGraph(builder_, name, inputs, outputs, value_list, node_list));
  return OkStatus();
}

Result<Offset<index::Value>> GraphWriter::WriteValue(const ir::Value& value) {
  int32_t constant = -1;
  if (value.is_constant()) {
    ASSIGN_OR_RETURN(constant, AddShared(value.constant));
  }
  const auto name = builder_.CreateString(value.name);
  const auto dtype = builder_.CreateString(DTypeName(value.dtype));
  Offset<flatbuffers::Vector<int64_t>> shape;
  if (value.shape) shape = builder_.CreateVector(value.shape->dims());
  Strings symbols;
  if (!value.symbols.empty()) symbols = WriteTexts(value.symbols);
  return index::CreateValue(builder_, name, dtype, shape, symbols, constant);
}

Result<Offset<index::Node>> GraphWriter::WriteNode(const ir::Node& node, int depth) {
  std::vector<Offset<index::Attribute>> attributes;
  for (const auto& [name, attribute] : node.attributes.items()) {
    ASSIGN_OR_RETURN(attributes.emplace_back(), WriteAttribute(name, attribute, depth));
  }
  const auto op = builder_.CreateString(node.op.name());
  const auto name = builder_.CreateString(node.name);
  const auto source_op = builder_.CreateString(node.source_op);
  const auto list = builder_.CreateVector(attributes);
  const auto inputs = builder_.CreateVector(node.inputs);
  const auto outputs = builder_.CreateVector(node.outputs);
  return index::CreateNode(builder_, op, name, list, inputs, outputs, node.source_index, source_op,
                           node.source_opset);
}

Result<Offset<index::Attribute>> GraphWriter::WriteAttribute(const std::string& name,
                                                             const ir::Attribute& attribute,
                                                             int depth) {
  index::AttributeValue kind = index::AttributeValue_NONE;
  Offset<void> value;
  const auto set = [&](index::AttributeValue its_kind, auto offset) {
    kind = its_kind;
    value = offset.Union();
  };
  if (const auto* number = std::get_if<int64_t>(&attribute)) {
    set(index::AttributeValue_Int, index::CreateInt(builder_, *number));
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    set(index::AttributeValue_Float, index::CreateFloat(builder_, *real));
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    set(index::AttributeValue_Text, index::CreateText(builder_, builder_.CreateString(*text)));
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute)) {
    set(index::AttributeValue_Ints, index::CreateIntsDirect(builder_, numbers));
  } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
    set(index::AttributeValue_Floats, index::CreateFloatsDirect(builder_, reals));
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    set(index::AttributeValue_Texts, index::CreateTexts(builder_, WriteTexts(*texts)));
  } else if (const auto* constant = std::get_if<Constant>(&attribute)) {
    ASSIGN_OR_RETURN(const uint32_t at, AddConstant(*constant));
    set(index::AttributeValue_ConstantRef, index::CreateConstantRef(builder_, at));
  } else {
    const auto& graph = std::get<std::shared_ptr<const ir::Graph>>(attribute);
    if (graph == nullptr) return InvalidArgument("attribute '{}' holds no graph", name);
    const auto at = static_cast<uint32_t>(waiting_.size());
    waiting_.push_back({graph.get(), depth + 1});
    set(index::AttributeValue_GraphRef, index::CreateGraphRef(builder_, at));
  }
  return index::CreateAttribute(builder_, builder_.CreateString(name), kind, value);
}

Result<int32_t> GraphWriter::AddShared(const std::shared_ptr<const Constant>& constant) {
  const auto [known, is_new] = shared_.try_emplace(constant.get(), 0);
  if (is_new) {
    ASSIGN_OR_RETURN(known->second, AddConstant(*constant));
  }
  return static_cast<int32_t>(known->second);
}

Result<uint32_t> GraphWriter::AddConstant(const Constant& constant) {
  if (!IsStored(constant.dtype()))
    return Unsupported("constants of type {} cannot be stored", DTypeName(constant.dtype()));
  const int64_t size = StorageBytes(constant.dtype(), constant.elements());
  const bool is_inline = !constant.is_splat() && size <= kInlineBytes;
  index::Contents contents = index::Contents_Section;
  std::vector<uint8_t> elements;
  uint32_t section = 0;
  std::optional<CompactLayout> compact;
  if (!is_inline) compact = FindCompact(constant);
  if (constant.is_splat() || is_inline) {
    contents = is_inline ? index::Contents_Inline : index::Contents_Splat;
    elements.resize(is_inline ? static_cast<size_t>(size) : constant.bytes().size());
    const std::span<std::byte> out = std::as_writable_bytes(std::span(elements));
    if (is_inline) {
      constant.CopyTo(0, constant.elements(), out.data());
    } else {
      std::ranges::copy(constant.bytes(), out.begin());
    }
  } else if (AreNibbles(constant)) {
    contents = index::Contents_Nibbles;
    ASSIGN_OR_RETURN(section, sections_.AddNibbles(constant));
  } else if (compact) {
    contents = ContentsOf(compact->form);
    ASSIGN_OR_RETURN(section, sections_.AddCompact(constant, *compact));
  } else {
    ASSIGN_OR_RETURN(section, sections_.Add(constant));
  }
  if (constant.source() != nullptr || contents == index::Contents_Nibbles || compact) {
    ASSIGN_OR_RETURN(renamed_[constant.Hash()], StoredHash(constant, compact));
  }
  const auto dtype = builder_.CreateString(DTypeName(constant.dtype()));
  const auto shape = builder_.CreateVector(constant.shape().dims());
  const auto bytes = builder_.CreateVector(elements);
  const CompactLayout layout = compact.value_or(CompactLayout{});
  constants_.push_back(index::CreateConstant(builder_, dtype, shape, contents, bytes, section,
                                             layout.slices, layout.inner));
  return static_cast<uint32_t>(constants_.size() - 1);
}

GraphWriter::Strings GraphWriter::WriteTexts(const std::vector<std::string>& texts) {
  return builder_.CreateVectorOfStrings(texts);
}

}  // namespace fettle::runtime::package
