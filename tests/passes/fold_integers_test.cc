// Whole numbers that are folded without tensors are what the scalar oracle gives.
#include "passes/clean/fold_integers.h"

#include <map>
#include <random>

#include "equivalence.h"
#include "passes/clean/fold_node.h"
#include "passes/edit/equal_nodes.h"

namespace fettle::passes {
namespace {

/// One node on constants.
struct Form {
  const char* op;
  const char* types;  // of its inputs: kinds of Random
  const char* attributes = "";
};

constexpr Form kForms[] = {
    {"Gather", "ii"},
    {"Gather", "is"},
    {"Gather", "bi"},
    {"Gather", "ii", " {axis=-1}"},
    {"Concat", "iii", " {axis=0}"},
    {"Concat", "i", " {axis=0}"},
    {"Concat", "bb", " {axis=-1}"},
    {"Equal", "ii"},
    {"Equal", "bb"},
    {"Equal", "is"},
    {"Where", "bii"},
    {"Where", "bsi"},
    {"Add", "ii"},
    {"Add", "si"},
    {"Mul", "ii"},
    {"Mul", "ss"},
    {"Sub", "is"},
    {"Cast", "i", " {to=\"bool\"}"},
    {"Cast", "b", " {to=\"i64\"}"},
    {"Cast", "i", " {to=\"i64\"}"},
    {"Less", "is"},
    {"LessOrEqual", "ii"},
    {"Greater", "si"},
    {"GreaterOrEqual", "ii"},
    {"And", "bb"},
    {"Or", "bb"},
    {"Range", "sss"},
    {"Max", "ii"},
    {"Min", "is"},
    {"Reshape", "il"},
    {"Reshape", "bl"},
    {"Reshape", "il", " {allowzero=1}"},
    {"Unsqueeze", "ia"},
    {"Unsqueeze", "sa"},
    {"Squeeze", "ia"},
    {"Squeeze", "i"},
    {"Slice", "inn"},
    {"Slice", "inna"},
    {"Slice", "innan"},
    {"Expand", "il"},
    {"Expand", "sl"},
    {"Expand", "bl"},
    {"Div", "ii"},
};

/// A list of what shapes, axes and bounds are made of.
Constant RandomList(char kind, std::mt19937& random) {
  static constexpr int64_t kExtents[] = {-1, 0, 1, 1, 2, 4, 4, 8};
  const int64_t count = kind == 'l' ? static_cast<int64_t>(random() % 4) : 1 + (random() % 8 == 0);
  Tensor tensor = Tensor::Create(DType::kI64, Shape{count}).value();
  for (int64_t i = 0; i < count; ++i) {
    const auto near = static_cast<int64_t>(random() % (kind == 'a' ? 5 : 13));
    tensor.view().SetInt(i, kind == 'l'   ? kExtents[random() % std::size(kExtents)]
                            : kind == 'a' ? near - 2
                                          : near - 6);
  }
  return Constant::FromTensor(tensor);
}

/// i: i64, b: bool, s: an i64 without axes; lists: l: extents, a: axes, n: bounds.
Constant Random(char type, std::mt19937& random) {
  if (std::string_view("lan").find(type) != std::string_view::npos) return RandomList(type, random);
  std::uniform_int_distribution<int64_t> number(-6, 6);
  Dims dims;
  // Mostly lists; few of other ranks, so that operands broadcast, or do not.
  if (type != 's') dims.assign(random() % 4 == 0 ? 2 : 1, 4);
  for (int64_t& extent : dims)
    if (random() % 3 == 0) extent = 1;
  const Shape shape(std::move(dims));
  const DType dtype = type == 'b' ? DType::kBool : DType::kI64;
  Tensor tensor = Tensor::Create(dtype, shape).value();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.view().SetInt(i, type == 'b' ? number(random) > 0 : number(random));
  if (type == 'i' && random() % 8 == 0) tensor.view().SetInt(0, INT64_MIN);
  if (random() % 16 == 0)
    return Constant::Splat(dtype, shape, tensor.bytes().first(StorageBytes(dtype, 1)));
  return Constant::FromTensor(tensor);
}

ir::Graph GraphOf(const Form& form) {
  std::string text, list;
  for (int i = 0; form.types[i] != 0; ++i) {
    text += fmt::format("input %x{}: {}[?]\n", i, form.types[i] == 'b' ? "bool" : "i64");
    list += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  return ParseGraph(
      fmt::format("{}%y = {}({}){}\noutput %y\n", text, form.op, list, form.attributes));
}

/// Gives the inputs other numbers.
void SetInputs(const Form& form, ir::Graph& graph, std::mt19937& random) {
  for (int i = 0; form.types[i] != 0; ++i) {
    ir::Value& value = graph.value(graph.node(0).inputs[i]);
    value.constant = std::make_shared<const Constant>(Random(form.types[i], random));
    value.dtype = value.constant->dtype();
    value.shape = value.constant->shape();
  }
}

bool FoldByTensors(ir::Graph& graph) {
  const Result<ops::Inferred> inferred = ops::Infer(graph, graph.node(0));
  return inferred.ok() && inferred->needed_input < 0 && FoldData(graph, graph.node(0), *inferred);
}

TEST(FoldIntegersTest, GivesWhatTheOraclesGive) {
  std::mt19937 random(20261128);
  std::map<std::string, int> taken;
  for (int round = 0; round < 30000; ++round) {
    const Form& form = kForms[random() % std::size(kForms)];
    ir::Graph graph = GraphOf(form);
    SetInputs(form, graph, random);
    if (!FoldByTensors(graph)) continue;
    SetInputs(form, graph, random);
    ir::Graph want = graph;
    const std::shared_ptr<const Constant> before = graph.value(graph.outputs[0]).constant;
    if (!FoldIntegers(graph, graph.node(0))) {
      EXPECT_EQ(graph.value(graph.outputs[0]).constant, before) << form.op;
      continue;
    }
    ++taken[form.op];
    ASSERT_TRUE(FoldByTensors(want)) << form.op;
    const ir::Value& got = graph.value(graph.outputs[0]);
    const Constant& wanted = *want.value(want.outputs[0]).constant;
    ASSERT_EQ(got.constant->shape(), wanted.shape()) << form.op << " " << form.types;
    for (int64_t i = 0; i < wanted.elements(); ++i)
      ASSERT_EQ(got.constant->GetInt(i), wanted.GetInt(i)) << form.op << " " << form.types;
    EXPECT_EQ(got.shape, got.constant->shape());
    if (SameConstant(*before, *got.constant)) {
      EXPECT_EQ(got.constant, before) << form.op;
    }
  }
  for (const Form& form : kForms)
    EXPECT_EQ(taken[form.op] > 50, form.op != std::string("Div")) << form.op << taken[form.op];
}

}  // namespace
}  // namespace fettle::passes
