// Caches that grow become caches with room for all tokens where that gives the same logits.
#include "language/onnx/in_place_caches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "ir/text.h"
#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::language {
namespace {

constexpr int64_t kContext = 40, kVocabulary = 20, kKeyHeads = 2, kSize = 4;

/// A decoder of one attention with four heads of queries and two of keys. `mask` makes %mask of
/// %rows and %columns, the positions of queries and keys; `more` changes %h into %g.
std::string Decoder(std::string_view mask, std::string_view scores, std::string_view more) {
  return fmt::format(
      "input %input_ids: i64[1x?]\ninput %attention_mask: i64[1x?]\n"
      "input %past_k: f32[1x2x?x4]\ninput %past_v: f32[1x2x?x4]\n"
      "const %table: f32[20x16]\nconst %places: f32[64x16]\nconst %wk: f32[16x8]\n"
      "const %wv: f32[16x8]\nconst %w: f32[16x20]\n"
      "const %zero: i64[] = 0\nconst %one: i64[] = 1\nconst %none: f32[] = 0\n"
      "const %least: f32[] = -1e30\nconst %scale: f32[] = 0.5\nconst %cap: f32[] = 2\n"
      "const %few: i64[] = 4\nconst %first: i64[1] = 0\nconst %second: i64[1] = 1\n"
      "const %third: i64[1] = 2\nconst %minus: i64[1] = -1\nconst %end: i64[1] = 1000000\n"
      "const %by_four: i64[4] = 0 0 4 4\nconst %by_two: i64[4] = 0 0 2 4\n"
      "const %joined: i64[3] = 0 0 16\nconst %heads: i64[4] = 1 4 -1 4\n"
      "const %twice: i64[5] = 1 2 2 1 4\n"
      "%past1 = Shape(%past_k) {{start=2, end=3}}\n%fresh1 = Shape(%input_ids) {{start=1}}\n"
      "%past = Squeeze(%past1)\n%fresh = Squeeze(%fresh1)\n%all = Add(%past, %fresh)\n"
      "%k0 = Range(%zero, %all, %one)\n%q0 = Range(%past, %all, %one)\n"
      "%columns = Unsqueeze(%k0, %first)\n%rows = Unsqueeze(%q0, %second)\n"
      "%sums = CumSum(%attention_mask, %one)\n%counted = Sub(%sums, %one)\n"
      "%back = Mul(%fresh1, %minus)\n%places1 = Slice(%counted, %back, %end, %second)\n{}"
      "%h0 = Gather(%table, %input_ids)\n%h1 = Gather(%places, %places1)\n%h = Add(%h0, %h1)\n"
      "%q1 = Reshape(%h, %by_four)\n%q = Transpose(%q1) {{perm=[0, 2, 1, 3]}}\n"
      "%k1 = MatMul(%h, %wk)\n%k2 = Reshape(%k1, %by_two)\n%k = Transpose(%k2) {{perm=[0, 2, 1, "
      "3]}}\n"
      "%v1 = MatMul(%h, %wv)\n%v2 = Reshape(%v1, %by_two)\n%v = Transpose(%v2) {{perm=[0, 2, 1, "
      "3]}}\n"
      "%present_k = Concat(%past_k, %k) {{axis=2}}\n%present_v = Concat(%past_v, %v) {{axis=-2}}\n"
      "%rk1 = Unsqueeze(%present_k, %third)\n%rk2 = Expand(%rk1, %twice)\n%rk = Reshape(%rk2, "
      "%heads)\n"
      "%rv1 = Unsqueeze(%present_v, %third)\n%rv2 = Expand(%rv1, %twice)\n%rv = Reshape(%rv2, "
      "%heads)\n"
      "%kt = Transpose(%rk) {{perm=[0, 1, 3, 2]}}\n%s0 = MatMul(%q, %kt)\n%s1 = Mul(%s0, "
      "%scale)\n{}"
      "%s = Add(%s2, %mask)\n%p = Softmax(%s) {{axis=-1}}\n%y1 = MatMul(%p, %rv)\n"
      "%y2 = Transpose(%y1) {{perm=[0, 2, 1, 3]}}\n%y = Reshape(%y2, %joined)\n{}"
      "%logits: f32[1x?x20] = MatMul(%g, %w)\n"
      "output %logits\noutput %present_k\noutput %present_v\n",
      mask, scores, more);
}

constexpr std::string_view kCausal =
    "%sees = LessOrEqual(%columns, %rows)\n%mask = Where(%sees, %none, %least)\n";
constexpr std::string_view kScaled = "%s2 = Identity(%s1)\n", kAdded = "%g = Add(%h, %y)\n";

ir::Graph GraphOf(const std::string& text) {
  auto graph =
      ir::Parse(text, [](std::string_view name) -> const ir::OpDesc* { return ops::Find(name); });
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : ir::Graph();
}

struct Kept {
  ir::Graph graph;
  OnnxForm form;
};
Kept Keep(const std::string& text) {
  Kept kept = {GraphOf(text), {}};
  auto form = ReadOnnxForm(kept.graph, {});
  EXPECT_TRUE(form.ok()) << form.status().message();
  kept.form = *form;
  EXPECT_FALSE(kept.form.in_place);
  const Status status = KeepCachesInPlace(kept.graph, kept.form, kContext);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(ir::Verify(kept.graph).ok());
  return kept;
}
bool IsKept(std::string_view mask, std::string_view scores = kScaled,
            std::string_view more = kAdded) {
  return Keep(Decoder(mask, scores, more)).form.in_place;
}

Tensor Ints(const OnnxInts& ints, int64_t count, int64_t first, int64_t step) {
  Tensor tensor = *Tensor::Create(
      ints.dtype, step == 0 && ints.name != "attention_mask" ? Shape{1} : Shape{1, count});
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.view().SetInt(i, first + i * step);
  return tensor;
}

/// Logits of all tokens, read in runs of `lengths`.
std::vector<float> LogitsOf(ir::Graph graph, const OnnxForm& form,
                            const std::vector<int64_t>& lengths) {
  auto model = runtime::Model::FromGraph(std::move(graph), "decoder");
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto session = runtime::Session::Create(*model, {.threads = 1});
  std::mt19937 random(3);
  const Shape empty = {1, kKeyHeads, form.in_place ? kContext : 0, kSize};
  Tensor keys = *Tensor::Create(DType::kF32, empty), values = *Tensor::Create(DType::kF32, empty);
  std::vector<float> logits;
  int64_t past = 0;
  for (int64_t length : lengths) {
    Tensor ids = *Tensor::Create(DType::kI64, Shape{1, length});
    for (int64_t& id : ids.as<int64_t>()) id = random() % kVocabulary;
    runtime::TensorMap inputs = {{"input_ids", ids}, {"past_k", keys}, {"past_v", values}}, outputs;
    if (!form.mask.name.empty())
      inputs.emplace("attention_mask", Ints(form.mask, past + length, 1, 0));
    if (!form.positions.name.empty())
      inputs.emplace(form.positions.name, Ints(form.positions, length, past, 1));
    if (!form.last.name.empty())
      inputs.emplace(form.last.name, Ints(form.last, 1, past + length - 1, 0));
    if (!form.all.name.empty()) inputs.emplace(form.all.name, Ints(form.all, 1, past + length, 0));
    const Status status = (*session)->Run(inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return {};
    const Tensor& made = outputs.at("logits");
    logits.insert(logits.end(), made.as<float>().data(), made.as<float>().data() + made.elements());
    keys = outputs.at("present_k");
    values = outputs.at("present_v");
    past += length;
  }
  return logits;
}

const std::vector<std::vector<int64_t>> kRuns = {
    {1, 1, 5, 1, 1, 8, 3}, {17, 1, 1, 1, 20}, {40}, {2, 38}};

void ExpectSameLogits(std::string_view mask, std::string_view scores = kScaled,
                      std::string_view more = kAdded,
                      const std::vector<std::vector<int64_t>>& runs = kRuns) {
  const std::string text = Decoder(mask, scores, more);
  Kept kept = Keep(text);
  ASSERT_TRUE(kept.form.in_place);
  EXPECT_TRUE(kept.form.mask.name.empty());
  ir::Graph graph = GraphOf(text);
  const auto form = ReadOnnxForm(graph, {});
  for (const std::vector<int64_t>& lengths : runs) {
    const std::vector<float> grown = LogitsOf(graph, *form, lengths);
    const std::vector<float> kept_logits = LogitsOf(kept.graph, kept.form, lengths);
    ASSERT_EQ(grown.size(), kept_logits.size());
    for (size_t i = 0; i < grown.size(); ++i)
      ASSERT_NEAR(grown[i], kept_logits[i], 1e-4 * (1 + std::abs(grown[i]))) << i;
  }
}

TEST(InPlaceCachesTest, CausalAttentionGivesTheSameLogits) { ExpectSameLogits(kCausal); }

TEST(InPlaceCachesTest, WindowsGiveTheSameLogits) {
  ExpectSameLogits(
      "%before = LessOrEqual(%columns, %rows)\n%oldest = Sub(%rows, %few)\n"
      "%near = Greater(%columns, %oldest)\n%sees = And(%before, %near)\n"
      "%mask = Where(%sees, %none, %least)\n");
}

TEST(InPlaceCachesTest, CappedScoresGiveTheSameLogits) {
  ExpectSameLogits(kCausal, "%d = Div(%s1, %cap)\n%t = Tanh(%d)\n%s2 = Mul(%t, %cap)\n");
}

TEST(InPlaceCachesTest, WhatChangesWithTheNumberOfTokensGivesTheSameLogits) {
  ExpectSameLogits(kCausal, kScaled,
                   "%many = Mul(%few, %few)\n%long = Greater(%all, %many)\n"
                   "%far = Cast(%long) {to=\"f32\"}\n%n = Mul(%h, %far)\n%m = Add(%h, %n)\n"
                   "%g = Add(%m, %y)\n");
}

TEST(InPlaceCachesTest, ModelsThatReadOneTokenBehindOthersGiveTheSameLogits) {
  ExpectSameLogits(
      "%own = Range(%zero, %fresh, %one)\n%own_columns = Unsqueeze(%own, %first)\n"
      "%own_rows = Unsqueeze(%own, %second)\n%sees = LessOrEqual(%own_columns, %own_rows)\n"
      "%own_mask = Where(%sees, %none, %least)\n%all1 = Unsqueeze(%all, %first)\n"
      "%whole = Concat(%fresh1, %all1) {axis=0}\n%mask = Expand(%own_mask, %whole)\n",
      kScaled, kAdded, {{5, 1, 1, 1, 1}, {1, 1, 1}, {33, 1, 1, 1, 1, 1, 1, 1}});
}

TEST(InPlaceCachesTest, OtherMasksKeepCachesThatGrow) {
  EXPECT_TRUE(IsKept(kCausal));
  // Every query sees every key.
  EXPECT_FALSE(
      IsKept("%sees = LessOrEqual(%columns, %all)\n%mask = Where(%sees, %none, %least)\n"));
  // Keys of a query's own four alone.
  EXPECT_FALSE(
      IsKept("%before = LessOrEqual(%columns, %rows)\n%kc = Div(%columns, %few)\n"
             "%qc = Div(%rows, %few)\n%near = Equal(%kc, %qc)\n%sees = And(%before, %near)\n"
             "%mask = Where(%sees, %none, %least)\n"));
  // Distances count.
  EXPECT_FALSE(
      IsKept("%sees = LessOrEqual(%columns, %rows)\n%far = Sub(%columns, %rows)\n"
             "%bias = Cast(%far) {to=\"f32\"}\n%mask = Where(%sees, %bias, %least)\n"));
  // A key far back is hidden.
  EXPECT_FALSE(
      IsKept("%before = LessOrEqual(%columns, %rows)\n%other = Equal(%columns, %one)\n"
             "%seen = Not(%other)\n%sees = And(%before, %seen)\n"
             "%mask = Where(%sees, %none, %least)\n"));
}

TEST(InPlaceCachesTest, OtherReadersKeepCachesThatGrow) {
  EXPECT_FALSE(
      IsKept(kCausal, kScaled,
             "%m = ReduceMax(%present_k) {keepdims=0}\n%n = Add(%h, %m)\n%g = Add(%n, %y)\n"));
  EXPECT_FALSE(IsKept(kCausal, "%s2 = Mul(%s1, %s1)\n"));
  // The mean of the mask is one for every length, its sum is not.
  EXPECT_TRUE(IsKept(kCausal, kScaled,
                     "%u = ReduceMax(%attention_mask) {keepdims=0}\n%m = Cast(%u) {to=\"f32\"}\n%n "
                     "= Mul(%h, %m)\n%g = Add(%n, %y)\n"));
  EXPECT_TRUE(IsKept(kCausal, kScaled,
                     "%u = ReduceSum(%attention_mask) {keepdims=0}\n%m = Cast(%u) {to=\"f32\"}\n%n "
                     "= Mul(%h, %m)\n%g = Add(%n, %y)\n"));
  EXPECT_FALSE(IsKept(kCausal, kScaled,
                      "%u = Mul(%attention_mask, %attention_mask)\n%x = Cast(%u) {to=\"f32\"}\n%m "
                      "= ReduceSum(%x) {keepdims=0}\n%n = Mul(%h, %m)\n%g = Add(%n, %y)\n"));
}

}  // namespace
}  // namespace fettle::language
