#include "importers/gguf/decoder_parts.h"

#include <fmt/ranges.h>

#include <utility>

#include "base/memory_budget.h"
#include "ops/op.h"

namespace fettle::gguf {
namespace {

Status CheckTensor(const TensorInfo& tensor, int64_t columns, int64_t rows) {
  if (tensor.columns == columns && tensor.rows == rows) return OkStatus();
  return InvalidModel("tensor '{}': expected {} rows of {}, got {} of {}", tensor.name, rows,
                      columns, tensor.rows, tensor.columns);
}

}  // namespace

std::vector<ir::ValueId> DecoderParts::EmitMany(const std::string& op,
                                                std::vector<ir::ValueId> inputs,
                                                ir::Attributes attributes, int outputs) {
  ir::Node node;
  node.op = &ops::Get(op);
  node.name = fmt::format("{}.{}", op, graph_.nodes().size());
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  for (int i = 0; i < outputs; ++i)
    node.outputs.push_back(graph_.AddValue({.name = fmt::format("{}.{}", node.name, i)}));
  std::vector<ir::ValueId> y = node.outputs;
  graph_.AddNode(std::move(node));
  return y;
}
ir::ValueId DecoderParts::Ints(const std::string& name, const std::vector<int64_t>& values) {
  const MemoryScope scope(MemoryBudget::Unbounded());
  return graph_.AddConstant(name, Constant::FromTensor(*Tensor::FromVector(
                                      Shape{static_cast<int64_t>(values.size())}, values)));
}

ir::ValueId DecoderParts::Number(double value) {
  const MemoryScope scope(MemoryBudget::Unbounded());
  return graph_.AddConstant(
      fmt::format("number.{}.{}", graph_.nodes().size(), value),
      Constant::FromTensor(*Tensor::FromVector(Shape{}, std::vector{static_cast<float>(value)})));
}

ir::ValueId DecoderParts::Scaled(ir::ValueId x, double factor) {
  return factor == 1 ? x : Emit("Mul", {x, Number(factor)});
}

Result<const TensorInfo*> DecoderParts::Need(const std::string& name, int64_t columns,
                                             int64_t rows) const {
  const TensorInfo* tensor = file_->FindTensor(name);
  if (tensor == nullptr) return InvalidModel("tensor '{}' is missing", name);
  RETURN_IF_ERROR(CheckTensor(*tensor, columns, rows));
  return tensor;
}

Result<ir::ValueId> DecoderParts::Vector(const std::string& name, int64_t size) {
  ASSIGN_OR_RETURN(const TensorInfo* tensor, Need(name, size, 1));
  return graph_.AddConstant(name, ReadVector(*tensor, file_));
}

Result<ir::ValueId> DecoderParts::Norm(const std::string& name, ir::ValueId x, int64_t size) {
  if (d_.plain_norms) return PlainNorm(x, size);
  // Files of falcon-h1 have some without the end.
  const bool is_whole = file_->FindTensor(name) != nullptr;
  ASSIGN_OR_RETURN(const ir::ValueId scale, Vector(is_whole ? name : name + ".weight", size));
  const ir::Attributes how = {{"axis", int64_t{-1}}, {"epsilon", d_.epsilon}};
  if (!d_.centred) return Emit("RMSNormalization", {x, scale}, how);
  if (file_->FindTensor(name + ".bias") == nullptr)
    return Emit("LayerNormalization", {x, scale}, how);
  ASSIGN_OR_RETURN(const ir::ValueId bias, Vector(name + ".bias", size));
  return Emit("LayerNormalization", {x, scale, bias}, how);
}

ir::ValueId DecoderParts::PlainNorm(ir::ValueId x, int64_t size) {
  const MemoryScope scope(MemoryBudget::Unbounded());
  const ir::ValueId ones = graph_.AddConstant(
      fmt::format("ones.{}", graph_.nodes().size()),
      Constant::FromTensor(*Tensor::FromVector(Shape{size}, std::vector<float>(size, 1.0F))));
  return Emit(d_.centred ? "LayerNormalization" : "RMSNormalization", {x, ones},
              {{"axis", int64_t{-1}}, {"epsilon", d_.epsilon}});
}

DecoderParts::Part DecoderParts::Find(const std::string& name, const Part& several,
                                      int64_t rows) const {
  const bool is_part = file_->FindTensor(name + ".weight") == nullptr &&
                       file_->FindTensor(several.name + ".weight") != nullptr;
  return is_part ? several : Part{name, 0, rows};
}

std::vector<ir::ValueId> DecoderParts::AddBlocks(const TensorInfo& tensor, int64_t experts) {
  BlockConstants blocks = ReadBlocks(tensor, file_);
  const auto add = [&](const std::string& end, const Constant& part) {
    const Shape& rows = part.shape();
    const Shape shape = experts == 0 ? rows : Shape{experts, rows[0] / experts, rows[1]};
    return graph_.AddConstant(tensor.name + end, part.Reshaped(shape));
  };
  return {add("", blocks.codes), add(".scales", blocks.scales), add(".minima", blocks.minima)};
}

Result<ir::ValueId> DecoderParts::PartProduct(const Part& part, ir::ValueId x, int64_t k,
                                              int64_t n) {
  ASSIGN_OR_RETURN(const TensorInfo* whole, Need(part.name + ".weight", k, part.rows));
  TensorInfo tensor = *whole;
  if (n != part.rows) {
    tensor.name = fmt::format("{}.{}", tensor.name, part.first);
    tensor.rows = n;
    tensor.bytes = whole->bytes.subspan(part.first * whole->row_bytes(), n * whole->row_bytes());
  }
  ir::ValueId y = ir::kAbsent;
  if (tensor.type->bits == 0 || form_.floats) {
    y = Emit("MatMul", {x, graph_.AddConstant(tensor.name, ReadFloats(tensor, file_, true))});
  } else {
    std::vector<ir::ValueId> inputs = AddBlocks(tensor);
    inputs.insert(inputs.begin(), x);
    y = Emit("BlockMatMul", std::move(inputs), {{"block_size", tensor.type->part}});
  }
  if (file_->FindTensor(part.name + ".scale") != nullptr) {  // BitNet's, of the whole matrix
    ASSIGN_OR_RETURN(const ir::ValueId scale, Vector(part.name + ".scale", 1));
    y = Emit("Mul", {y, scale});
  }
  if (file_->FindTensor(part.name + ".bias") == nullptr) return y;
  ASSIGN_OR_RETURN(const ir::ValueId bias, Bias(part, n));
  return Emit("Add", {y, bias});
}

Result<ir::ValueId> DecoderParts::MatrixEach(const std::string& name, int64_t count,
                                             ir::ValueId chosen, ir::ValueId x, int64_t k,
                                             int64_t n, ir::ValueId counts) {
  ASSIGN_OR_RETURN(const TensorInfo* tensor, Need(name + ".weight", k, n * count));
  if (tensor->extents != std::vector{k, n, count})
    return InvalidModel("tensor '{}': expected {} matrices of {} rows of {}, got {}", tensor->name,
                        count, n, k, fmt::join(tensor->extents, " x "));
  std::vector<ir::ValueId> inputs = {x};
  ir::Attributes attributes;
  if (tensor->type->bits == 0 || form_.floats) {
    Constant floats = ReadFloats(*tensor, file_, false).Reshaped(Shape{count, n, k});
    inputs.push_back(graph_.AddConstant(tensor->name, std::move(floats)));
    if (chosen != ir::kAbsent) inputs.push_back(chosen);
    if (counts != ir::kAbsent) inputs.insert(inputs.end(), {ir::kAbsent, ir::kAbsent});
  } else {
    const std::vector<ir::ValueId> blocks = AddBlocks(*tensor, count);
    inputs.insert(inputs.end(), {blocks[0], chosen, blocks[1], blocks[2]});
    attributes.Set("block_size", tensor->type->part);
  }
  if (counts != ir::kAbsent) inputs.push_back(counts);
  return Emit("ExpertMatMul", std::move(inputs), std::move(attributes));
}

Result<ir::ValueId> DecoderParts::Bias(const Part& part, int64_t n) {
  ASSIGN_OR_RETURN(const TensorInfo* whole, Need(part.name + ".bias", part.rows, 1));
  if (n == part.rows) return graph_.AddConstant(whole->name, ReadVector(*whole, file_));
  std::vector<float> all(part.rows);
  ReadRow(*whole, 0, all.data());
  ASSIGN_OR_RETURN(const Tensor some,
                   Tensor::FromVector(Shape{n}, std::vector(all.begin() + part.first,
                                                            all.begin() + part.first + n)));
  return graph_.AddConstant(fmt::format("{}.{}", whole->name, part.first),
                            Constant::FromTensor(some));
}

}  // namespace fettle::gguf
