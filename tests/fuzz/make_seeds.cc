// Writes the seed corpus of the importer's, the tensor reader's and the package's fuzz targets: one
// small file per feature.
//   make_seeds tests/fuzz/corpus
#include <filesystem>
#include <fstream>

#include "base/version.h"
#include "device/cpu/cpu_device.h"
#include "importers/model_writer.h"
#include "importers/onnx/tensor_file.h"
#include "ops/op.h"
#include "runtime/model.h"
#include "runtime/package/package.h"

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

/// Packages of small graphs: one with a constant in a section, one with sub-graphs.
void WritePackages(const std::filesystem::path& folder) {
  const std::pair<const char*, const char*> graphs[] = {{"conv", R"(input %x: f32[1x3x?'h'x4]
const %w: f32[40x3x3x3]
const %b: f32[40] = splat 0.5
%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}
output %y
)"},
                                                        {"branch", R"(input %x: f32[2x4]
input %p: bool[]
%z = If(%p, %x) {then_branch=
  graph 'then'
  input %a: f32[2x4]
  const %k: f32[4] = 1.0 2.0 3.0 4.0
  %b = Add(%a, %k)
  output %b
  end, else_branch=
  graph 'else'
  input %a: f32[2x4]
  %b = Neg(%a)
  output %b
  end}
output %z
)"},
                                                        {"kinds", R"(input %x: f32[2x4]
%s = Softmax(%x) {axis=-1, f=0.5, t="text", i=[1,2], g=floats[0.5], u=strings["a","b"]}
%t = Transpose(%s) {perm=[1,0]}
output %t
)"}};
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : graphs) {
    const auto model = runtime::Model::FromGraph(ops::Parse(text).value(), name).value();
    planner::PlanBook book;
    planner::BookEntry entry;
    entry.key.device = "here";
    entry.text = "decision 1\n";
    book.Put(std::move(entry));
    const std::string path = folder / (std::string(name) + ".fettle");
    runtime::PackageInfo info;  // the same on every machine
    info.library = LibraryVersion();
    info.device = info.device_name = "here";
    if (!runtime::SavePackage(path, *model, book, info).ok()) std::abort();
  }
}

void WriteAll(const std::filesystem::path& folder) {
  WritePackages(folder / "package");
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
  // What the bytes mean is said in database_fuzz.cc.
  const std::pair<const char*, std::string_view> databases[] = {
      {"text", std::string_view("\0SQLite format 3\0", 17)},
      {"flip", std::string_view("\1\0\0\x28\1", 5)},
      {"cut", std::string_view("\1\0\x10\0\xff\0\x18\0", 8)},
      {"log", std::string_view("\2\0\0\x40\1", 5)}};
  for (const auto& [name, changes] : databases)
    Write(folder / "database" / (std::string(name) + ".bin"), std::string(changes));
}

}  // namespace
}  // namespace fettle::onnx_test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fettle::onnx_test::WriteAll(argv[1]);
  return 0;
}
