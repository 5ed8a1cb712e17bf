#include "runtime/package/graph_reader.h"

#include <algorithm>

#include "ops/op.h"
#include "runtime/package/format.h"
#include "tensor/compact_floats.h"
#include "tensor/packed_rows.h"

namespace fettle::runtime::package {
namespace {

constexpr size_t kMaxRank = 32;

template <typename... Args>
Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return Error(StatusCode::kCorrupt, format, std::forward<Args>(args)...);
}

/// Booleans are read as such, so nothing but 0 and 1 may stand there.
bool AreElements(DType dtype, std::span<const std::byte> bytes) {
  return dtype != DType::kBool ||
         std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

std::optional<CompactForm> FormOf(index::Contents contents) {
  switch (contents) {
    case index::Contents_Bits: return CompactForm::kBits;
    case index::Contents_Halves: return CompactForm::kHalves;
    case index::Contents_Bytes: return CompactForm::kBytes;
    default: return std::nullopt;
  }
}

class GraphReader {
 public:
  GraphReader(const index::Package& package, uint64_t index_bytes,
              const std::shared_ptr<const Sections>& sections)
      : package_(package), sections_(sections), budget_(index_bytes) {}

  /// Sub-graphs stand behind the graphs that name them, so the last ones are made first.
  Result<std::shared_ptr<const ir::Graph>> Run() {
    RETURN_IF_ERROR(ReadConstants());
    const auto& graphs = *package_.graphs();
    if (graphs.size() == 0) return Corrupt("the index holds no graph");
    made_.resize(graphs.size());
    for (size_t i = graphs.size(); i-- > 0;) {
      current_ = i;
      const auto* graph = graphs.Get(static_cast<flatbuffers::uoffset_t>(i));
      ASSIGN_OR_RETURN(made_[i].graph, Read(*graph));
    }
    for (size_t i = 1; i < made_.size(); ++i) {
      if (!made_[i].used) return Corrupt("sub-graph {} belongs to no node", i);
    }
    return made_[0].graph;
  }

 private:
  struct Made {
    std::shared_ptr<const ir::Graph> graph;
    int height = 0;  // levels of sub-graphs below
    bool used = false;
  };

  /// No two fields share bytes in what the writer writes; where they do, a small index could ask
  /// for any amount of memory.
  Status Take(uint64_t bytes) {
    if (bytes > budget_) return Corrupt("parts of the index overlap");
    budget_ -= bytes;
    return OkStatus();
  }

  Result<std::string> Text(const flatbuffers::String* text) {
    RETURN_IF_ERROR(Take(text->size()));
    return text->str();
  }

  template <typename T>
  Result<std::vector<T>> List(const flatbuffers::Vector<T>* list) {
    RETURN_IF_ERROR(Take(list->size() * sizeof(T)));
    return std::vector<T>(list->begin(), list->end());
  }

  Result<std::vector<std::string>> Texts(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
    RETURN_IF_ERROR(Take(texts->size() * sizeof(flatbuffers::uoffset_t)));
    std::vector<std::string> list;
    for (const flatbuffers::String* text : *texts) {
      ASSIGN_OR_RETURN(list.emplace_back(), Text(text));
    }
    return list;
  }

  Result<Shape> ReadShape(const flatbuffers::Vector<int64_t>* dims, int64_t least) {
    if (dims->size() > kMaxRank) return Corrupt("a shape has {} axes", dims->size());
    for (int64_t extent : *dims) {
      if (extent < least || extent > kMaxElements) return Corrupt("an extent is {}", extent);
    }
    ASSIGN_OR_RETURN(Dims list, List(dims));
    return Shape(std::move(list));
  }

  static Result<DType> ReadDType(const flatbuffers::String* name) {
    const std::optional<DType> dtype = DTypeFromName(name->string_view());
    if (!dtype) return Corrupt("a type is '{}'", name->string_view());
    return *dtype;
  }

  Status ReadConstants() {
    for (const index::Constant* constant : *package_.constants()) {
      RETURN_IF_ERROR(Take(sizeof(flatbuffers::uoffset_t)));
      ASSIGN_OR_RETURN(Constant read, ReadConstant(*constant));
      constants_.push_back(std::make_shared<const Constant>(std::move(read)));
    }
    return OkStatus();
  }

  Result<Constant> ReadConstant(const index::Constant& constant) {
    ASSIGN_OR_RETURN(const DType dtype, ReadDType(constant.dtype()));
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(constant.shape(), 0));
    const auto elements = shape.CheckedElements();
    if (!elements || !DispatchDType(dtype, []<typename T>() {}))
      return Corrupt("a constant is {} {}", DTypeName(dtype), shape.ToString());
    const auto bytes = static_cast<uint64_t>(StorageBytes(dtype, *elements));
    if (constant.contents() == index::Contents_Section)
      return ReadSection(constant.section(), dtype, shape, bytes);
    if (constant.contents() == index::Contents_Nibbles) {
      if (RowOf(dtype).bits != 4) return Corrupt("{} are not stored by halves", DTypeName(dtype));
      const Shape halves{(*elements + 1) / 2};
      ASSIGN_OR_RETURN(const Constant packed,
                       ReadSection(constant.section(), DType::kU8, halves, halves[0]));
      return FromNibbles(dtype, shape, packed);
    }
    if (const auto form = FormOf(constant.contents())) {
      const CompactLayout layout{*form, constant.slices(), constant.inner()};
      return ReadCompact(constant.section(), dtype, shape, layout);
    }
    std::span<const std::byte> inlined;
    if (constant.elements() != nullptr)
      inlined = std::as_bytes(std::span(constant.elements()->data(), constant.elements()->size()));
    RETURN_IF_ERROR(Take(inlined.size()));
    const bool is_splat = constant.contents() == index::Contents_Splat;
    const auto element = static_cast<uint64_t>(StorageBytes(dtype, 1));
    if (inlined.size() != (is_splat ? element : bytes) || !AreElements(dtype, inlined))
      return Corrupt("a constant's elements do not fit its type and shape");
    if (is_splat) return Constant::Splat(dtype, shape, inlined);
    return Constant::FromBytes(dtype, shape, inlined, sections_);
  }

  Result<Constant> ReadSection(uint32_t section, DType dtype, const Shape& shape, uint64_t bytes) {
    if (section >= sections_->size() || sections_->bytes(section).size() != bytes)
      return Corrupt("a constant's section does not fit its type and shape");
    if (dtype == DType::kBool && !AreElements(dtype, sections_->bytes(section)))
      return Corrupt("a constant's elements do not fit its type");
    return Constant::FromBytes(dtype, shape, sections_->bytes(section), sections_,
                               Sections::Guard(sections_, section));
  }

  Result<Constant> ReadCompact(uint32_t section, DType dtype, const Shape& shape,
                               const CompactLayout& layout) {
    const auto fits = [&](int64_t extent) {
      return extent >= 1 && extent <= std::max<int64_t>(1, shape.elements());
    };
    if (dtype != DType::kF32 || !fits(layout.slices) || !fits(layout.inner))
      return Corrupt("{} {} in {} slices of {} are not stored so", DTypeName(dtype),
                     shape.ToString(), layout.slices, layout.inner);
    const int64_t bytes = layout.Bytes(shape.elements());
    ASSIGN_OR_RETURN(const Constant packed,
                     ReadSection(section, DType::kU8, Shape{bytes}, static_cast<uint64_t>(bytes)));
    return FromCompact(shape, layout, packed);
  }

  Result<std::shared_ptr<const Constant>> ConstantAt(uint64_t at) const {
    if (at >= constants_.size()) return Corrupt("there is no constant {}", at);
    return constants_[at];
  }

  Result<std::shared_ptr<const ir::Graph>> Read(const index::Graph& graph) {
    auto read = std::make_shared<ir::Graph>();
    ASSIGN_OR_RETURN(read->name, Text(graph.name()));
    ASSIGN_OR_RETURN(read->inputs, List(graph.inputs()));
    ASSIGN_OR_RETURN(read->outputs, List(graph.outputs()));
    for (const index::Value* value : *graph.values()) {
      ASSIGN_OR_RETURN(ir::Value added, ReadValue(*value));
      read->AddValue(std::move(added));
    }
    for (const index::Node* node : *graph.nodes()) {
      ASSIGN_OR_RETURN(ir::Node added, ReadNode(*node));
      read->AddNode(std::move(added));
    }
    const Status status = ir::Verify(*read);
    if (!status.ok()) return Corrupt("graph '{}': {}", read->name, status.message());
    return std::shared_ptr<const ir::Graph>(std::move(read));
  }

  Result<ir::Value> ReadValue(const index::Value& value) {
    RETURN_IF_ERROR(Take(sizeof(flatbuffers::uoffset_t)));
    ir::Value read;
    ASSIGN_OR_RETURN(read.name, Text(value.name()));
    ASSIGN_OR_RETURN(read.dtype, ReadDType(value.dtype()));
    if (value.shape() != nullptr) {
      ASSIGN_OR_RETURN(read.shape, ReadShape(value.shape(), -1));
    }
    if (value.symbols() != nullptr) {
      ASSIGN_OR_RETURN(read.symbols, Texts(value.symbols()));
    }
    if (value.constant() < 0) return read;
    ASSIGN_OR_RETURN(read.constant, ConstantAt(static_cast<uint64_t>(value.constant())));
    if (read.dtype != read.constant->dtype() || read.shape != read.constant->shape())
      return Corrupt("value '{}' differs from its constant", read.name);
    return read;
  }

  Result<ir::Node> ReadNode(const index::Node& node) {
    RETURN_IF_ERROR(Take(sizeof(flatbuffers::uoffset_t)));
    ir::Node read;
    ASSIGN_OR_RETURN(const std::string op, Text(node.op()));
    read.op = ops::Find(op);
    ASSIGN_OR_RETURN(read.name, Text(node.name()));
    ASSIGN_OR_RETURN(read.inputs, List(node.inputs()));
    ASSIGN_OR_RETURN(read.outputs, List(node.outputs()));
    read.source_index = node.source_index();
    ASSIGN_OR_RETURN(read.source_op, Text(node.source_op()));
    read.source_opset = node.source_opset();
    if (!read.op) return Unsupported("{}: operator '{}' is not known", ir::Describe(read), op);
    const auto inputs = std::ssize(read.inputs), outputs = std::ssize(read.outputs);
    if (inputs < read.op->min_inputs ||
        (read.op->max_inputs >= 0 && inputs > read.op->max_inputs) || outputs < 1 ||
        (read.op->max_outputs >= 0 && outputs > read.op->max_outputs))
      return Corrupt("{}: has {} inputs and {} outputs", ir::Describe(read), inputs, outputs);
    const auto required = read.op->max_inputs < 0 ? inputs : read.op->min_inputs;
    for (ptrdiff_t i = 0; i < required && !read.op->Has(ir::Trait::kControl); ++i)
      if (read.inputs[i] == ir::kAbsent)
        return Corrupt("{}: input {} is required", ir::Describe(read), i);
    for (const index::Attribute* attribute : *node.attributes()) {
      RETURN_IF_ERROR(Take(sizeof(flatbuffers::uoffset_t)));
      ASSIGN_OR_RETURN(std::string name, Text(attribute->name()));
      ASSIGN_OR_RETURN(ir::Attribute value, ReadAttribute(*attribute));
      read.attributes.Set(name, std::move(value));
    }
    return read;
  }

  Result<ir::Attribute> ReadAttribute(const index::Attribute& attribute) {
    switch (attribute.value_type()) {
      case index::AttributeValue_Int: return ir::Attribute(attribute.value_as_Int()->value());
      case index::AttributeValue_Float: return ir::Attribute(attribute.value_as_Float()->value());
      case index::AttributeValue_Text: return As(Text(attribute.value_as_Text()->value()));
      case index::AttributeValue_Ints: return As(List(attribute.value_as_Ints()->values()));
      case index::AttributeValue_Floats: return As(List(attribute.value_as_Floats()->values()));
      case index::AttributeValue_Texts: return As(Texts(attribute.value_as_Texts()->values()));
      case index::AttributeValue_ConstantRef: {
        ASSIGN_OR_RETURN(const auto constant,
                         ConstantAt(attribute.value_as_ConstantRef()->index()));
        return ir::Attribute(*constant);
      }
      case index::AttributeValue_GraphRef:
        return As(TakeSubGraph(attribute.value_as_GraphRef()->index()));
      case index::AttributeValue_NONE: break;
    }
    return Corrupt("an attribute is of unknown kind");
  }

  template <typename T>
  static Result<ir::Attribute> As(Result<T> value) {
    if (!value.ok()) return value.status();
    return ir::Attribute(std::move(value).value());
  }

  /// Each sub-graph belongs to one attribute of one earlier graph: no cycles, and no graph that
  /// unfolds to more than the index holds.
  Result<std::shared_ptr<const ir::Graph>> TakeSubGraph(uint32_t at) {
    if (at <= current_ || at >= made_.size() || made_[at].used)
      return Corrupt("a node's sub-graph is {} of {}", at, made_.size());
    Made& made = made_[at];
    made.used = true;
    made_[current_].height = std::max(made_[current_].height, made.height + 1);
    if (made_[current_].height > kMaxDepth)
      return Corrupt("sub-graphs are nested deeper than {}", kMaxDepth);
    return made.graph;
  }

  const index::Package& package_;
  const std::shared_ptr<const Sections>& sections_;
  uint64_t budget_;
  std::vector<std::shared_ptr<const Constant>> constants_;
  std::vector<Made> made_;
  size_t current_ = 0;
};

}  // namespace

Result<std::shared_ptr<const ir::Graph>> ReadGraph(
    const index::Package& package, uint64_t index_bytes,
    const std::shared_ptr<const Sections>& sections) {
  return GraphReader(package, index_bytes, sections).Run();
}

}  // namespace fettle::runtime::package
