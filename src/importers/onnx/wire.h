// The messages of an ONNX file as records of views into its bytes; nothing is copied, so the bytes
// must outlive the records. Attribute values and tensors stay encoded until they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fettle::onnx {

/// Sub-graphs, and functions that call functions, may nest this deep.
inline constexpr int kMaxDepth = 64;
/// Nodes that one model may hold, functions expanded: a bound on what a hostile file can make us
/// build.
inline constexpr int64_t kMaxNodes = int64_t{1} << 20;
/// Attributes of one node, and opset imports: far more than any model has.
inline constexpr size_t kMaxAttributes = 1024;
inline constexpr size_t kMaxOpsets = 256;
/// Attributes, tensors and value descriptions of one file, all together.
inline constexpr int64_t kMaxRecords = int64_t{1} << 22;

/// The bytes of a file as its records view them.
inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct GraphRecord;

struct AttributeRecord {
  std::string_view name;
  std::string_view ref_name;  // the attribute of the enclosing function that gives the value
  int32_t type = 0;           // AttributeProto.AttributeType; 0 in very old files
  std::string_view body;      // the AttributeProto
  std::shared_ptr<const GraphRecord> graph;
};

struct NodeRecord {
  std::string_view op_type;
  std::string_view domain;  // "" is ai.onnx
  std::string_view overload;
  std::string name;  // control characters replaced
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeRecord> attributes;
};

/// A TensorProto, ValueInfoProto or SparseTensorProto with its name.
struct NamedRecord {
  std::string_view name;
  std::string_view body;
};

struct GraphRecord {
  std::string_view name;
  std::vector<NodeRecord> nodes;
  std::vector<NamedRecord> initializers;
  std::vector<NamedRecord> inputs;
  std::vector<NamedRecord> outputs;
  std::vector<std::string_view> value_infos;  // ValueInfoProto of values in between
  bool has_sparse_initializers = false;
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionRecord {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeRecord> defaults;  // attributes with a default value
  std::vector<NodeRecord> nodes;
  std::vector<OpsetImport> opsets;
};

struct ModelRecord {
  int64_t ir_version = 0;
  int64_t model_version = 0;
  std::string_view producer;
  std::string_view producer_version;
  std::string_view domain;
  std::vector<OpsetImport> opsets;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  GraphRecord graph;
  std::vector<FunctionRecord> functions;
};

/// Reads a ModelProto. Fails with kInvalidModel on broken bytes, a missing graph, names that are
/// not text, or too many records. Messages do not name the file.
Result<ModelRecord> ReadModel(std::string_view bytes);

/// The same without graph contents and functions: what describes the file.
Result<ModelRecord> ReadModelHeader(std::string_view bytes);

/// "ai.onnx" and "" are the same domain.
std::string_view CanonicalDomain(std::string_view domain);

/// The text with control characters and broken UTF-8 replaced by '?', cut after 200 bytes.
std::string Printable(std::string_view text);

}  // namespace fettle::onnx
