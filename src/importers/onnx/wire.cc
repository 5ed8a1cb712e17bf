#include "importers/onnx/wire.h"

#include "importers/onnx/proto.h"

namespace fettle::onnx {
namespace {

/// Length of the UTF-8 sequence at the start of `text`; 0 where it is broken or a control
/// character.
size_t TextSequence(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x20 || lead == 0x7f) return 0;
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xf0 && at(1) < 0x90);
  const bool outside = (lead == 0xed && at(1) > 0x9f) || (lead == 0xf4 && at(1) > 0x8f);
  return overlong || outside ? 0 : length;
}

Status CheckName(std::string_view name, std::string_view what) {
  for (size_t i = 0; i < name.size();) {
    const size_t length = TextSequence(name.substr(i));
    if (length == 0) return InvalidModel("{} '{}': not printable UTF-8", what, Printable(name));
    i += length;
  }
  return OkStatus();
}

/// Reads one file, counting what it builds.
class WireReader {
 public:
  Status Model(std::string_view bytes, bool header_only, ModelRecord* model);

 private:
  Status Graph(std::string_view body, int depth, GraphRecord* graph);
  Status Node(std::string_view body, int depth, NodeRecord* node);
  Status Attribute(std::string_view body, int depth, AttributeRecord* attribute);
  Status Function(std::string_view body, FunctionRecord* function);
  Status Named(std::string_view body, uint32_t name_tag, std::string_view what,
               std::vector<NamedRecord>* records);
  Status Opset(std::string_view body, std::vector<OpsetImport>* opsets);
  Status Name(std::string_view text, std::string_view what, std::string_view* name);
  Status Name(std::string_view text, std::string_view what, std::vector<std::string_view>* names);
  Status Nodes(std::string_view body, int depth, std::vector<NodeRecord>* nodes);
  Status Count();

  int64_t nodes_ = 0;
  int64_t records_ = 0;
};

Status WireReader::Count() {
  if (++records_ > kMaxRecords) return InvalidModel("more than {} records", kMaxRecords);
  return OkStatus();
}

Status WireReader::Name(std::string_view text, std::string_view what, std::string_view* name) {
  *name = text;
  return CheckName(text, what);
}

Status WireReader::Name(std::string_view text, std::string_view what,
                        std::vector<std::string_view>* names) {
  names->push_back(text);
  RETURN_IF_ERROR(Count());
  return CheckName(text, what);
}

Status WireReader::Named(std::string_view body, uint32_t name_tag, std::string_view what,
                         std::vector<NamedRecord>* records) {
  RETURN_IF_ERROR(Count());
  NamedRecord record{.body = body};
  RETURN_IF_ERROR(ForEachField(body, what, [&](auto& field) {
    if (field.tag_and_type() == BytesField(name_tag)) return Name(View(field), what, &record.name);
    field.skip();
    return OkStatus();
  }));
  records->push_back(record);
  return OkStatus();
}

Status WireReader::Opset(std::string_view body, std::vector<OpsetImport>* opsets) {
  RETURN_IF_ERROR(Count());
  OpsetImport opset;
  RETURN_IF_ERROR(ForEachField(body, "opset import", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): return Name(View(field), "domain", &opset.domain);
      case VarintField(2): opset.version = field.get_int64(); break;
      default: field.skip();
    }
    return OkStatus();
  }));
  opset.domain = CanonicalDomain(opset.domain);
  if (opset.version < 1 || opset.version > (1 << 20))
    return InvalidModel("opset import of domain '{}': version {}", opset.domain, opset.version);
  if (opsets->size() >= kMaxOpsets) return InvalidModel("more than {} opset imports", kMaxOpsets);
  opsets->push_back(opset);
  return OkStatus();
}

Status WireReader::Attribute(std::string_view body, int depth, AttributeRecord* attribute) {
  RETURN_IF_ERROR(Count());
  attribute->body = body;
  RETURN_IF_ERROR(ForEachField(body, "attribute", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): return Name(View(field), "attribute name", &attribute->name);
      case BytesField(21): return Name(View(field), "attribute name", &attribute->ref_name);
      case VarintField(20): attribute->type = field.get_enum(); break;
      case BytesField(6): {
        auto graph = std::make_shared<GraphRecord>();
        RETURN_IF_ERROR(Graph(View(field), depth + 1, graph.get()));
        attribute->graph = std::move(graph);
        break;
      }
      default: field.skip();
    }
    return OkStatus();
  }));
  if (attribute->name.empty()) return InvalidModel("an attribute has no name");
  return OkStatus();
}

Status WireReader::Node(std::string_view body, int depth, NodeRecord* node) {
  RETURN_IF_ERROR(ForEachField(body, "node", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): return Name(View(field), "input", &node->inputs);
      case BytesField(2): return Name(View(field), "output", &node->outputs);
      case BytesField(3): node->name = Printable(View(field)); break;
      case BytesField(4): return Name(View(field), "operator", &node->op_type);
      case BytesField(5): return Attribute(View(field), depth, &node->attributes.emplace_back());
      case BytesField(7): return Name(View(field), "domain", &node->domain);
      case BytesField(8): return Name(View(field), "overload", &node->overload);
      default: field.skip();
    }
    return OkStatus();
  }));
  node->domain = CanonicalDomain(node->domain);
  if (node->attributes.size() > kMaxAttributes)
    return InvalidModel("more than {} attributes", kMaxAttributes);
  if (node->op_type.empty()) return InvalidModel("has no operator");
  return OkStatus();
}

Status WireReader::Nodes(std::string_view body, int depth, std::vector<NodeRecord>* nodes) {
  if (++nodes_ > kMaxNodes) return InvalidModel("more than {} nodes", kMaxNodes);
  const size_t index = nodes->size();
  const Status status = Node(body, depth, &nodes->emplace_back());
  return status.ok() ? status : status.WithContext(fmt::format("node #{}", index));
}

Status WireReader::Graph(std::string_view body, int depth, GraphRecord* graph) {
  if (depth > kMaxDepth) return InvalidModel("sub-graphs nest more than {} deep", kMaxDepth);
  return ForEachField(body, "graph", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): return Nodes(View(field), depth, &graph->nodes);
      case BytesField(2): return Name(View(field), "graph", &graph->name);
      case BytesField(5): return Named(View(field), 8, "initialiser", &graph->initializers);
      case BytesField(11): return Named(View(field), 1, "graph input", &graph->inputs);
      case BytesField(12): return Named(View(field), 1, "graph output", &graph->outputs);
      case BytesField(13): graph->value_infos.push_back(View(field)); return Count();
      case BytesField(15): graph->has_sparse_initializers = true; [[fallthrough]];
      default: field.skip();
    }
    return OkStatus();
  });
}

Status WireReader::Function(std::string_view body, FunctionRecord* function) {
  RETURN_IF_ERROR(Count());
  RETURN_IF_ERROR(ForEachField(body, "function", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): return Name(View(field), "function", &function->name);
      case BytesField(4): return Name(View(field), "input", &function->inputs);
      case BytesField(5): return Name(View(field), "output", &function->outputs);
      case BytesField(7): return Nodes(View(field), 0, &function->nodes);
      case BytesField(9): return Opset(View(field), &function->opsets);
      case BytesField(10): return Name(View(field), "domain", &function->domain);
      case BytesField(11): return Attribute(View(field), 0, &function->defaults.emplace_back());
      case BytesField(13): return Name(View(field), "overload", &function->overload);
      default: field.skip();
    }
    return OkStatus();
  }));
  function->domain = CanonicalDomain(function->domain);
  if (function->name.empty()) return InvalidModel("a function has no name");
  return OkStatus();
}

Status WireReader::Model(std::string_view bytes, bool header_only, ModelRecord* model) {
  bool has_graph = false;
  const auto metadata = [&](std::string_view body) {
    RETURN_IF_ERROR(Count());
    std::pair<std::string_view, std::string_view>& entry = model->metadata.emplace_back();
    return ForEachField(body, "model", [&](auto& field) {
      switch (field.tag_and_type()) {
        case BytesField(1): entry.first = View(field); break;
        case BytesField(2): entry.second = View(field); break;
        default: field.skip();
      }
      return OkStatus();
    });
  };
  RETURN_IF_ERROR(ForEachField(bytes, "model", [&](auto& field) {
    switch (field.tag_and_type()) {
      case VarintField(1): model->ir_version = field.get_int64(); break;
      case BytesField(2): model->producer = View(field); break;
      case BytesField(3): model->producer_version = View(field); break;
      case BytesField(4): model->domain = View(field); break;
      case VarintField(5): model->model_version = field.get_int64(); break;
      case BytesField(7): {
        if (has_graph) return InvalidModel("the file holds two graphs");
        has_graph = true;
        const std::string_view body = View(field);
        return header_only ? OkStatus() : Graph(body, 0, &model->graph);
      }
      case BytesField(8): return Opset(View(field), &model->opsets);
      case BytesField(14): return metadata(View(field));
      case BytesField(25): {
        const std::string_view body = View(field);
        return header_only ? OkStatus() : Function(body, &model->functions.emplace_back());
      }
      default: field.skip();
    }
    return OkStatus();
  }));
  if (!has_graph) return InvalidModel("the file holds no graph; is it an ONNX model?");
  return OkStatus();
}

}  // namespace

Result<ModelRecord> ReadModel(std::string_view bytes) {
  ModelRecord model;
  RETURN_IF_ERROR(WireReader().Model(bytes, /*header_only=*/false, &model));
  return model;
}

Result<ModelRecord> ReadModelHeader(std::string_view bytes) {
  ModelRecord model;
  RETURN_IF_ERROR(WireReader().Model(bytes, /*header_only=*/true, &model));
  return model;
}

std::string_view CanonicalDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string Printable(std::string_view text) {
  constexpr size_t kLimit = 200;
  std::string printable;
  for (size_t i = 0; i < text.size();) {
    if (printable.size() >= kLimit) return printable + "...";
    const size_t length = TextSequence(text.substr(i));
    printable += length == 0 ? std::string_view("?") : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return printable;
}

}  // namespace fettle::onnx
