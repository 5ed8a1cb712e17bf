// Writes small ONNX messages, right and wrong ones, for the importer's tests and fuzz seeds.
#pragma once

#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "importers/onnx/importer.h"

namespace fettle::onnx_test {

/// TensorProto.DataType.
enum : int {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kComplex64 = 14,
  kBfloat16 = 16,
  kUint4 = 21,
  kInt4 = 22
};

/// One message, built field by field.
class Message {
 public:
  Message& Int(uint32_t tag, int64_t value) {
    protozero::pbf_writer(bytes_).add_int64(tag, value);
    return *this;
  }
  Message& Float(uint32_t tag, float value) {
    protozero::pbf_writer(bytes_).add_float(tag, value);
    return *this;
  }
  Message& Text(uint32_t tag, const std::string& text) {
    protozero::pbf_writer(bytes_).add_string(tag, text);
    return *this;
  }
  Message& Texts(uint32_t tag, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) Text(tag, text);
    return *this;
  }
  Message& Ints(uint32_t tag, const std::vector<int64_t>& values) {
    protozero::pbf_writer(bytes_).add_packed_int64(tag, values.begin(), values.end());
    return *this;
  }
  Message& Floats(uint32_t tag, const std::vector<float>& values) {
    protozero::pbf_writer(bytes_).add_packed_float(tag, values.begin(), values.end());
    return *this;
  }
  Message& Sub(uint32_t tag, const Message& message) { return Text(tag, message.bytes_); }
  Message& Subs(uint32_t tag, const std::vector<Message>& messages) {
    for (const Message& message : messages) Sub(tag, message);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline Message Attribute(const std::string& name) { return Message().Text(1, name); }
inline Message IntAttribute(const std::string& name, int64_t value) {
  return Attribute(name).Int(20, 2).Int(3, value);
}
inline Message FloatAttribute(const std::string& name, float value) {
  return Attribute(name).Int(20, 1).Float(2, value);
}
inline Message TextAttribute(const std::string& name, const std::string& value) {
  return Attribute(name).Int(20, 3).Text(4, value);
}
inline Message IntsAttribute(const std::string& name, const std::vector<int64_t>& values) {
  return Attribute(name).Int(20, 7).Ints(8, values);
}
inline Message TensorAttribute(const std::string& name, const Message& tensor) {
  return Attribute(name).Int(20, 4).Sub(5, tensor);
}
inline Message GraphAttribute(const std::string& name, const Message& graph) {
  return Attribute(name).Int(20, 5).Sub(6, graph);
}
inline Message RefAttribute(const std::string& name, const std::string& of, int type) {
  return Attribute(name).Int(20, type).Text(21, of);
}

inline Message Node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<Message>& attributes = {}, const std::string& name = "",
                    const std::string& domain = "") {
  Message node = Message().Texts(1, inputs).Texts(2, outputs).Text(3, name).Text(4, op);
  return node.Subs(5, attributes).Text(7, domain);
}

/// Seeded numbers in [-1, 1].
inline std::vector<float> SeededFloats(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<double>(seed >> 40) * 0x1p-23 - 1);
  }
  return values;
}

/// A tensor without data.
inline Message TensorHeader(const std::string& name, int type, const std::vector<int64_t>& dims) {
  return Message().Ints(1, dims).Int(2, type).Text(8, name);
}
inline Message RawTensor(const std::string& name, int type, const std::vector<int64_t>& dims,
                         const std::string& raw) {
  return TensorHeader(name, type, dims).Text(9, raw);
}
inline Message FloatTensor(const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<float>& values) {
  return TensorHeader(name, kFloat, dims).Floats(4, values);
}
inline Message Int64Tensor(const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<int64_t>& values) {
  return TensorHeader(name, kInt64, dims).Ints(7, values);
}
/// The parts of `entries` as external_data.
inline Message ExternalTensor(const std::string& name, int type, const std::vector<int64_t>& dims,
                              const std::vector<std::pair<std::string, std::string>>& entries) {
  Message tensor = TensorHeader(name, type, dims).Int(14, 1);
  for (const auto& [key, value] : entries) tensor.Sub(13, Message().Text(1, key).Text(2, value));
  return tensor;
}

/// A value with a tensor type of known extents.
inline Message Value(const std::string& name, int type, const std::vector<int64_t>& dims) {
  Message shape;
  for (int64_t extent : dims) shape.Sub(1, Message().Int(1, extent));
  const Message tensor = Message().Int(1, type).Sub(2, shape);
  return Message().Text(1, name).Sub(2, Message().Sub(1, tensor));
}

struct GraphParts {
  std::vector<Message> nodes;
  std::vector<Message> inputs;
  std::vector<Message> outputs;
  std::vector<Message> initializers;
  std::vector<Message> value_infos;
  std::string name = "g";
};
inline Message Graph(const GraphParts& parts) {
  Message graph = Message().Subs(1, parts.nodes).Text(2, parts.name);
  graph.Subs(5, parts.initializers).Subs(11, parts.inputs).Subs(12, parts.outputs);
  return graph.Subs(13, parts.value_infos);
}

inline Message Opset(const std::string& domain, int64_t version) {
  return Message().Text(1, domain).Int(2, version);
}

struct FunctionParts {
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Message> nodes;
  std::vector<Message> defaults;
  int64_t opset = 17;
};
inline Message Function(const FunctionParts& parts) {
  Message function = Message().Text(1, parts.name).Texts(4, parts.inputs).Texts(5, parts.outputs);
  function.Subs(7, parts.nodes).Sub(9, Opset("", parts.opset)).Text(10, parts.domain);
  return function.Subs(11, parts.defaults);
}

inline Message Model(const Message& graph, int64_t opset = 17,
                     const std::vector<Message>& functions = {}, int64_t ir_version = 8) {
  Message model = Message().Int(1, ir_version).Text(2, "tests").Sub(7, graph);
  return model.Sub(8, Opset("", opset)).Sub(8, Opset("acme", 1)).Subs(25, functions);
}

/// Imports the bytes as "m.onnx".
inline Result<ir::Graph> Import(const std::string& bytes,
                                std::vector<std::string>* warnings = nullptr,
                                const std::string& external_dir = "") {
  auto owner = std::make_shared<std::string>(bytes);
  return onnx::ImportBytes(std::as_bytes(std::span(*owner)), owner, "m.onnx", external_dir,
                           warnings);
}
inline Result<ir::Graph> Import(const Message& model, std::vector<std::string>* warnings = nullptr,
                                const std::string& external_dir = "") {
  return Import(model.bytes(), warnings, external_dir);
}
/// The graph of `parts`, imported.
inline Result<ir::Graph> Import(const GraphParts& parts) { return Import(Model(Graph(parts))); }

/// The message of the failure; "" where there was none.
inline std::string Failure(const Result<ir::Graph>& graph) { return graph.status().message(); }

}  // namespace fettle::onnx_test
