// What attention of domain com.microsoft needs besides ONNX's: two rows and the rules.
#pragma once

#include <span>

#include "ops/op.h"

namespace fettle::ops {

Status InferAttentionMask(InferContext& context);
Status AttentionMaskReference(const RefContext& context, const Region& region);
Status InferGroupQuery(InferContext& context);
Status GroupQueryReference(const RefContext& context, const Region& region);
int64_t GroupQueryMacs(const ir::Node& node, std::span<const Shape> inputs,
                       std::span<const Shape> outputs);

/// onnx_contrib.cc
Status ImportMultiHeadAttention(ImportContext& context);
Status ImportContribAttention(ImportContext& context);
Status ImportQAttention(ImportContext& context);
Status ImportContribRotary(ImportContext& context);
Status ImportGroupQueryAttention(ImportContext& context);

}  // namespace fettle::ops
