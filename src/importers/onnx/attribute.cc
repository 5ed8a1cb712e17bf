#include "importers/onnx/attribute.h"

#include "importers/onnx/proto.h"
#include "importers/onnx/tensor_data.h"

namespace fettle::onnx {
namespace {

/// AttributeProto.AttributeType.
enum Kind : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kText = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kTexts = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};

constexpr std::string_view kKindNames[] = {"undefined",
                                           "float",
                                           "int",
                                           "string",
                                           "tensor",
                                           "graph",
                                           "floats",
                                           "ints",
                                           "strings",
                                           "list of tensors",
                                           "list of graphs",
                                           "sparse tensor",
                                           "list of sparse tensors",
                                           "type",
                                           "list of types"};

struct Decoded {
  Kind seen = kUndefined;  // of the field that was there, for files that leave out the type
  double f = 0;
  int64_t i = 0;
  std::string s;
  std::string_view tensor;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> texts;
};

/// Of a field whose contents no operator takes.
Kind KindOfUnread(uint32_t tag_and_type) {
  switch (tag_and_type) {
    case BytesField(10): return kTensors;
    case BytesField(11): return kGraphs;
    case BytesField(14): return kType;
    case BytesField(15): return kTypes;
    case BytesField(22): return kSparseTensor;
    case BytesField(23): return kSparseTensors;
    default: return kUndefined;
  }
}

/// Reads a field that holds a value, and says of which kind it is; kUndefined: no value.
Kind ReadField(auto& field, Decoded& out) {
  switch (field.tag_and_type()) {
    case Fixed32Field(2): out.f = field.get_float(); return kFloat;
    case VarintField(3): out.i = field.get_int64(); return kInt;
    case BytesField(4): out.s = View(field); return kText;
    case BytesField(5): out.tensor = View(field); return kTensor;
    case Fixed32Field(7): out.floats.push_back(field.get_float()); return kFloats;
    case BytesField(7):
      for (float value : field.get_packed_float()) out.floats.push_back(value);
      return kFloats;
    case VarintField(8): out.ints.push_back(field.get_int64()); return kInts;
    case BytesField(8):
      for (int64_t value : field.get_packed_int64()) out.ints.push_back(value);
      return kInts;
    case BytesField(9): out.texts.emplace_back(View(field)); return kTexts;
    default: break;
  }
  const Kind kind = KindOfUnread(field.tag_and_type());
  field.skip();
  return kind;
}

Result<Decoded> ReadFields(std::string_view body) {
  Decoded out;
  RETURN_IF_ERROR(ForEachField(body, "attribute", [&](auto& field) {
    const Kind kind = ReadField(field, out);
    if (kind != kUndefined) out.seen = kind;
    return OkStatus();
  }));
  return out;
}

Result<ir::Attribute> Convert(const AttributeRecord& record,
                              const std::shared_ptr<const void>& owner, ExternalFiles* external) {
  ASSIGN_OR_RETURN(Decoded value, ReadFields(record.body));
  switch (record.type == kUndefined ? value.seen : record.type) {
    case kFloat: return ir::Attribute(value.f);
    case kInt: return ir::Attribute(value.i);
    case kText: return ir::Attribute(std::move(value.s));
    case kFloats: return ir::Attribute(std::move(value.floats));
    case kInts: return ir::Attribute(std::move(value.ints));
    case kTexts: return ir::Attribute(std::move(value.texts));
    case kTensor: {
      ASSIGN_OR_RETURN(Constant constant, DecodeTensor(value.tensor, owner, external));
      return ir::Attribute(std::move(constant));
    }
    default: break;
  }
  const int32_t kind = record.type == kUndefined ? value.seen : record.type;
  if (kind < 1 || kind > kTypes) return InvalidModel("unknown type {}", kind);
  if (kind == kGraph) return InvalidModel("has no graph");
  return Unsupported("type {} is not supported", kKindNames[kind]);
}

/// What exporters write where they know neither an extent nor a name for it: each is an extent of
/// its own.
bool IsAnonymous(std::string_view symbol) {
  return symbol == "?" || symbol == "-1" || symbol == "None" || symbol.starts_with("unk__");
}

Status AddExtent(std::string_view body, ir::Value* value, Dims* dims) {
  int64_t extent = -1;
  bool known = false;
  std::string_view symbol;
  RETURN_IF_ERROR(ForEachField(body, "shape", [&](auto& field) {
    switch (field.tag_and_type()) {
      case VarintField(1):
        extent = field.get_int64();
        known = true;
        break;
      case BytesField(2): symbol = View(field); break;
      default: field.skip();
    }
    return OkStatus();
  }));
  if (dims->size() >= kMaxRank) return InvalidModel("more than {} dimensions", kMaxRank);
  if (known && extent < -1) return InvalidModel("dimension {} is {}", dims->size(), extent);
  dims->push_back(extent);
  value->symbols.push_back(IsAnonymous(symbol) ? std::string() : Printable(symbol));
  return OkStatus();
}

Status ReadShape(std::string_view body, ir::Value* value) {
  Dims dims;
  RETURN_IF_ERROR(ForEachField(body, "shape", [&](auto& field) {
    if (field.tag_and_type() == BytesField(1)) return AddExtent(View(field), value, &dims);
    field.skip();
    return OkStatus();
  }));
  Shape bound(dims);
  for (int axis = 0; axis < bound.rank(); ++axis) bound[axis] = bound[axis] < 0 ? 1 : bound[axis];
  const Shape shape(std::move(dims));
  if (!bound.CheckedElements()) return InvalidModel("shape {} is too large", shape.ToString());
  value->shape = shape;
  return OkStatus();
}

Status ReadTensorType(std::string_view body, ir::Value* value) {
  return ForEachField(body, "type", [&](auto& field) {
    switch (field.tag_and_type()) {
      case VarintField(1): {
        const int32_t code = field.get_enum();
        if (code == 0) return OkStatus();
        ASSIGN_OR_RETURN(value->dtype, DTypeFromCode(code));
        return OkStatus();
      }
      case BytesField(2): return ReadShape(View(field), value);
      default: field.skip();
    }
    return OkStatus();
  });
}

Status ReadType(std::string_view body, ir::Value* value) {
  return ForEachField(body, "type", [&](auto& field) {
    switch (field.tag_and_type()) {
      case BytesField(1): return ReadTensorType(View(field), value);
      case BytesField(4): return Unsupported("type sequence is not supported");
      case BytesField(5): return Unsupported("type map is not supported");
      case BytesField(7): return Unsupported("opaque types are not supported");
      case BytesField(8): return Unsupported("type sparse tensor is not supported");
      case BytesField(9): return Unsupported("type optional is not supported");
      default: field.skip();
    }
    return OkStatus();
  });
}

}  // namespace

Result<ir::Attribute> DecodeAttribute(const AttributeRecord& record,
                                      const std::shared_ptr<const void>& owner,
                                      ExternalFiles* external) {
  Result<ir::Attribute> value = Convert(record, owner, external);
  if (!value.ok()) return value.status().WithContext(fmt::format("attribute '{}'", record.name));
  return value;
}

Result<ir::Value> DecodeValueInfo(const NamedRecord& record) {
  ir::Value value;
  value.name = record.name;
  RETURN_IF_ERROR(ForEachField(record.body, "value", [&](auto& field) {
    if (field.tag_and_type() == BytesField(2)) return ReadType(View(field), &value);
    field.skip();
    return OkStatus();
  }));
  return value;
}

}  // namespace fettle::onnx
