// com.microsoft.MatMulBnb4: A times weights of 4 bits, each of which names a number of a table that
// is scaled by its block's largest.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "ops/import.h"
#include "ops/matmul/onnx.h"

namespace fettle::ops {
namespace {

using NumberTable = std::array<float, 16>;

/// FP4: a sign, two bits of an exponent and one of a fraction, 1 the largest.
constexpr NumberTable kFourBitFloats = {0,        1 / 192.F, 2 / 3.F,  1,          1 / 3.F,  0.5F,
                                        1 / 6.F,  0.25F,     0,        -1 / 192.F, -2 / 3.F, -1,
                                        -1 / 3.F, -0.5F,     -1 / 6.F, -0.25F};
/// NF4: quantiles of the normal distribution, scaled to -1 to 1.
constexpr NumberTable kQuantiles = {-1,           -0.69619280F, -0.52507305F, -0.39491749F,
                                    -0.28444138F, -0.18477343F, -0.09105004F, 0,
                                    0.07958030F,  0.16093020F,  0.24611230F,  0.33791524F,
                                    0.44070983F,  0.56261700F,  0.72295684F,  1};

/// f32 [k, n] of codes that lie as [n, k], two to a byte, the first in the high half; blocks go on
/// from one column to the next.
class TableWeights final : public ConstantSource {
 public:
  TableWeights(Constant codes, std::vector<float> scales, const NumberTable& table, int64_t n,
               int64_t k, int64_t block)
      : codes_(std::move(codes)),
        scales_(std::move(scales)),
        table_(table),
        n_(n),
        k_(k),
        block_(block) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    constexpr int64_t kBytes = sizeof(float);
    int64_t row = begin / n_, column = begin % n_;
    while (count > 0) {
      const int64_t columns = std::min(count, n_ - column);
      if (k_ % 2 == 0 && k_ % block_ == 0) {
        CopyRow(row, column, columns, out);
      } else {
        for (int64_t i = 0; i < columns; ++i) {
          const int64_t at = (column + i) * k_ + row;
          Put(table_[Code(at / 2, at % 2 == 0 ? 4 : 0)] * scales_[at / block_], out + i * kBytes);
        }
      }
      out += columns * kBytes;
      count -= columns;
      column = 0;
      ++row;
    }
  }
  uint64_t Hash() const override {
    const int64_t form[] = {n_, k_, block_, table_[0] < 0 ? 1 : 0};
    const uint64_t scales = HashBytes(std::as_bytes(std::span(scales_)), codes_.Hash());
    return HashBytes(std::as_bytes(std::span(form)), scales);
  }
  std::span<const std::byte> raw_bytes() const override { return codes_.raw_bytes(); }

 private:
  unsigned Code(int64_t byte, int shift) const {
    return static_cast<unsigned>(codes_.bytes()[byte]) >> shift & 15U;
  }
  static void Put(float value, std::byte* out) { std::memcpy(out, &value, sizeof value); }
  /// Of whole blocks and bytes: neither the half nor the blocks' numbers are divided for.
  void CopyRow(int64_t row, int64_t column, int64_t count, std::byte* out) const {
    const int shift = row % 2 == 0 ? 4 : 0;
    const int64_t bytes = k_ / 2, blocks = k_ / block_;
    int64_t byte = column * bytes + row / 2, scale = column * blocks + row / block_;
    for (int64_t i = 0; i < count; ++i, byte += bytes, scale += blocks, out += sizeof(float))
      Put(table_[Code(byte, shift)] * scales_[scale], out);
  }

  Constant codes_;
  std::vector<float> scales_;
  const NumberTable& table_;
  int64_t n_, k_, block_;
};

/// Floats of a constant.
std::vector<float> FloatsOf(const Constant& constant) {
  std::vector<float> floats(constant.elements());
  for (int64_t i = 0; i < constant.elements(); ++i)
    floats[i] = static_cast<float>(constant.GetDouble(i));
  return floats;
}

}  // namespace

/// Inputs A, B, absmax.
Status ImportMatMulBnb4(ImportContext& context) {
  const ir::Attributes& from = context.attributes();
  const int64_t n = from.Int("N"), k = from.Int("K"), block = from.Int("block_size");
  const int64_t type = from.Int("quant_type");
  constexpr int64_t kLimit = int64_t{1} << 30;
  if (n < 1 || n > kLimit || k < 1 || k > kLimit || block < 1 || block > kLimit)
    return InvalidModel("attributes N {}, K {} and block_size {} are out of range", n, k, block);
  if (type != 0 && type != 1)
    return InvalidModel("attribute 'quant_type': expected 0 (FP4) or 1 (NF4), got {}", type);
  if (from.Int("transB", 1) != 1) return Unsupported("attribute 'transB': 0 is not supported");
  const Constant *codes = context.constant(1), *largest = context.constant(2);
  if (codes == nullptr || largest == nullptr)
    return Unsupported("the weights and their scales (absmax) must be constants");
  if (codes->dtype() != DType::kU8 || codes->elements() != (n * k + 1) / 2)
    return InvalidModel("{} bytes of weights, expected {} of u8", codes->elements(),
                        (n * k + 1) / 2);
  if (!IsFloat(largest->dtype()) || largest->elements() != (n * k + block - 1) / block)
    return InvalidModel("{} numbers in 'absmax', expected {}", largest->elements(),
                        (n * k + block - 1) / block);
  Constant plain = *codes;
  if (codes->is_splat() || codes->source() != nullptr) {
    ASSIGN_OR_RETURN(const Tensor tensor, codes->ToTensor());
    plain = Constant::FromTensor(tensor);
  }
  auto weights = std::make_shared<TableWeights>(
      std::move(plain), FloatsOf(*largest), type == 0 ? kFourBitFloats : kQuantiles, n, k, block);
  ir::ValueId b = context.Const(Constant::Generated(DType::kF32, Shape{k, n}, std::move(weights)));
  if (largest->dtype() != DType::kF32)
    b = context.Emit1("Cast", {b}, {{"to", std::string(DTypeName(largest->dtype()))}});
  context.Bind(0, context.Emit1("MatMul", {context.input(0), b}));
  return OkStatus();
}

}  // namespace fettle::ops
