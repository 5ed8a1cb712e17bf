// Writes the seed corpus of the importer's and the tensor reader's fuzz targets: one small message
// per feature.
//   make_seeds tests/fuzz/corpus
#include <filesystem>
#include <fstream>

#include "importers/model_writer.h"
#include "importers/onnx/tensor_file.h"

namespace fettle::onnx_test {
namespace {

GraphParts Plain(const std::vector<Message>& nodes, const std::vector<Message>& initializers = {}) {
  return {.nodes = nodes,
          .inputs = {Value("x", kFloat, {1, 2, 4, 4})},
          .outputs = {Value("y", kFloat, {1, 2, 4, 4})},
          .initializers = initializers};
}

Message Conv() {
  return Model(
      Graph(Plain({Node("Conv", {"x", "w", "b"}, {"h"}, {IntsAttribute("pads", {1, 1, 1, 1})}),
                   Node("Clip", {"h", "", "c"}, {"y"})},
                  {FloatTensor("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5f)),
                   RawTensor("b", kFloat, {2}, std::string(8, '\0')), FloatTensor("c", {}, {6})})));
}

Message Calls() {
  const Message scale =
      Function({.domain = "acme",
                .name = "Scale",
                .inputs = {"x"},
                .outputs = {"y"},
                .nodes = {Node("Constant", {}, {"c"}, {RefAttribute("value_float", "by", 1)}),
                          Node("Mul", {"x", "c"}, {"y"})},
                .defaults = {FloatAttribute("by", 2)}});
  return Model(Graph(Plain({Node("Scale", {"x"}, {"h"}, {}, "s", "acme"),
                            Node("Scale", {"h"}, {"y"}, {FloatAttribute("by", 3)}, "", "acme")})),
               17, {scale});
}

Message Branches() {
  const Message branch =
      Graph({.nodes = {Node("Relu", {"x"}, {"r"})}, .outputs = {Value("r", kFloat, {1})}});
  GraphParts parts =
      Plain({Node("If", {"p"}, {"y"},
                  {GraphAttribute("then_branch", branch), GraphAttribute("else_branch", branch)})});
  parts.inputs.push_back(Value("p", kBool, {}));
  return Model(Graph(parts));
}

Message Loops() {
  const Message body = Graph(
      {.nodes = {Node("Add", {"v", "x"}, {"v2"})},
       .inputs = {Value("i", kInt64, {}), Value("c", kBool, {}), Value("v", kFloat, {1, 2, 4, 4})},
       .outputs = {Value("c", kBool, {}), Value("v2", kFloat, {1, 2, 4, 4})}});
  return Model(Graph(Plain({Node("Loop", {"m", "", "x"}, {"y"}, {GraphAttribute("body", body)})},
                           {Int64Tensor("m", {}, {3})})));
}

Message Reshapes() {
  return Model(Graph(
      Plain({Node("Shape", {"x"}, {"s"}), Node("Reshape", {"x", "r"}, {"f"}),
             Node("Constant", {}, {"k"}, {TensorAttribute("value", Int64Tensor("", {1}, {4}))}),
             Node("Gather", {"s", "k"}, {"g"}, {IntAttribute("axis", 0)}),
             Node("Cast", {"f"}, {"h"}, {IntAttribute("to", kFloat16)}),
             Node("Resize", {"x", "", "z"}, {"y"}, {TextAttribute("mode", "linear")})},
            {Int64Tensor("r", {2}, {0, -1}), FloatTensor("z", {4}, {1, 1, 2, 2})})));
}

Message Foreign() {
  return Model(Graph(
      Plain({Node("Foo", {"x"}, {"a"}, {}, "one"), Node("Bar", {"a"}, {"y"}, {}, "two", "acme")},
            {TensorHeader("t", kString, {1}),
             ExternalTensor("e", kFloat, {1}, {{"location", "w.bin"}, {"offset", "4"}})})));
}

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteAll(const std::filesystem::path& folder) {
  const std::pair<const char*, Message> models[] = {
      {"conv", Conv()},   {"calls", Calls()},       {"branches", Branches()},
      {"loops", Loops()}, {"reshapes", Reshapes()}, {"foreign", Foreign()}};
  for (const auto& [name, model] : models)
    Write(folder / "importer" / (std::string(name) + ".onnx"), model.bytes());
  const std::pair<const char*, Message> tensors[] = {
      {"raw", RawTensor("t", kFloat, {2}, std::string(8, '\1'))},
      {"floats", FloatTensor("t", {2}, {1, 2})},
      {"int64s", Int64Tensor("t", {2}, {1, -2})},
      {"halves", TensorHeader("t", kFloat16, {2}).Ints(5, {0x3c00, 0xc000})},
      {"bools", RawTensor("t", kBool, {2}, "\1\2")},
      {"nibbles", RawTensor("t", kInt4, {3}, "\1\2")},
      {"external", ExternalTensor("t", kFloat, {1}, {{"location", "w.bin"}})},
      {"scalar", TensorHeader("t", kFloat, {}).Float(4, 1)}};
  for (const auto& [name, tensor] : tensors)
    Write(folder / "tensor" / (std::string(name) + ".pb"), tensor.bytes());
}

}  // namespace
}  // namespace fettle::onnx_test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fettle::onnx_test::WriteAll(argv[1]);
  return 0;
}
