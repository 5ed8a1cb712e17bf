// The operator table is complete: unique names, oracles, import rules and cases for every operator.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ir/text.h"
#include "ops/cases.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

TEST(Table, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Operator* op : AllOps()) EXPECT_TRUE(names.insert(op->name).second) << op->name;
}

/// Operators without a name in ONNX: the rule of another one, a pass or the reader of another
/// format makes them.
bool IsEmittedByAnotherRule(const Operator& op) {
  return op.name == "AttentionMask" || op.name == "BatchNormalizationTraining" ||
         op.name == "BlockMatMul" || op.name == "ChannelShuffle" || op.name == "ExpertMatMul" ||
         op.name == "SlotConv" || op.name == "SlotScan" || op.name == "TableLookup" ||
         op.name.starts_with("Binary");
}

TEST(Table, EveryOperatorIsFoundAndComplete) {
  for (const Operator* op : AllOps()) {
    EXPECT_EQ(Find(op->name), op) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_EQ(op->reference == nullptr, op->Has(Trait::kControl)) << op->name;
    EXPECT_EQ(op->imports.empty(), IsEmittedByAnotherRule(*op)) << op->name << ": import rules";
  }
  EXPECT_EQ(Find("NoSuchOperator"), nullptr);
}

TEST(Table, TraitsDoNotContradictEachOther) {
  for (const Operator* op : AllOps()) {
    EXPECT_TRUE(!op->Has(Trait::kKeepsBytes) || op->Has(Trait::kMovesElements)) << op->name;
    EXPECT_FALSE(op->Has(Trait::kElementwise) && op->Has(Trait::kPointwise)) << op->name;
    EXPECT_FALSE(op->Has(Trait::kMovesElements) && op->Has(Trait::kReduces)) << op->name;
    EXPECT_FALSE(op->Has(Trait::kElementwise) && op->Has(Trait::kWholeOutput)) << op->name;
    if (op->max_inputs < 0) continue;
    EXPECT_EQ(op->host_inputs >> op->max_inputs, 0U) << op->name;
  }
}

TEST(Table, OperatorsAreEqualWhereTheirRowsAre) {
  const ir::OpRef conv = Find("Conv");
  EXPECT_TRUE(conv == "Conv"_op && conv != "Gemm"_op && conv != ir::OpRef());
  EXPECT_TRUE(conv == "Conv" && conv != "Gemm" && ir::OpRef().name().empty());
  EXPECT_DEATH("NoSuchOperator"_op, "unknown operator 'NoSuchOperator'");
}

TEST(Table, ImportRulesDoNotOverlap) {
  std::set<std::string> seen;
  for (const Operator* op : AllOps()) {
    for (const ImportRule& rule : op->imports) {
      for (int opset = rule.since; opset <= std::min(rule.until, 30); ++opset) {
        EXPECT_TRUE(seen.insert(fmt::format("{}.{} {}", rule.domain, rule.op_type, opset)).second)
            << rule.domain << "." << rule.op_type << " has two rules for opset " << opset;
      }
    }
  }
}

TEST(Table, EveryOperatorHasACase) {
  std::set<std::string> covered;
  for (const Case& test_case : AllCases()) {
    const Result<ir::Graph> graph = Parse(test_case.graph);
    ASSERT_TRUE(graph.ok()) << test_case.name << ": " << graph.status().message();
    for (const ir::Node& node : graph->nodes()) covered.insert(std::string(node.op));
  }
  for (const Operator* op : AllOps()) {
    if (op->Has(Trait::kControl)) continue;
    EXPECT_TRUE(covered.contains(std::string(op->name))) << op->name << " has no case";
  }
}

TEST(Table, CaseNamesAreUnique) {
  std::set<std::string_view> names;
  for (const Case& test_case : AllCases())
    EXPECT_TRUE(names.insert(test_case.name).second) << test_case.name;
}

}  // namespace
}  // namespace fettle::ops
