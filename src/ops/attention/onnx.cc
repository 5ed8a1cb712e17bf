#include "ops/attention/onnx.h"

#include "ops/attention/contrib.h"
#include "ops/import.h"

namespace fettle::ops {
namespace {

constexpr ImportRule kAttention[] = {
    {.op_type = "Attention", .since = 23},
    {.op_type = "Attention", .run = ImportContribAttention, .domain = kMicrosoft},
    {.op_type = "MultiHeadAttention", .run = ImportMultiHeadAttention, .domain = kMicrosoft},
    {.op_type = "QAttention", .run = ImportQAttention, .domain = kMicrosoft}};
constexpr ImportRule kGroupQuery[] = {
    {.op_type = "GroupQueryAttention", .run = ImportGroupQueryAttention, .domain = kMicrosoft}};
constexpr ImportRule kRotary[] = {
    {.op_type = "RotaryEmbedding", .since = 23},
    {.op_type = "RotaryEmbedding", .run = ImportContribRotary, .domain = kMicrosoft}};

}  // namespace

std::span<const ImportRule> AttentionImports(std::string_view op) {
  if (op == "Attention") return kAttention;
  if (op == "GroupQueryAttention") return kGroupQuery;
  return kRotary;
}

}  // namespace fettle::ops
