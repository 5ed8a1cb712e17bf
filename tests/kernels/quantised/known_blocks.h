// Constants of weights in blocks, of which is known what files of language models say of theirs.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "tensor/block_source.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

/// A constant whose codes are known to have `bits`, or one that is known to be `times` the scales.
class KnownBlocks final : public ConstantSource, public BlockSource {
 public:
  KnownBlocks(Constant from, int bits, float times)
      : from_(std::move(from)), bits_(bits), times_(times) {}
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    from_.CopyTo(begin, count, out);
    for (int64_t i = 0; i < count && times_ != 0; ++i) {
      if (from_.dtype() == DType::kF16) {
        Half half;
        std::memcpy(&half, out + i * 2, 2);
        half = Half(static_cast<float>(half) * times_);
        std::memcpy(out + i * 2, &half, 2);
      } else {
        float x = 0;
        std::memcpy(&x, out + i * 4, 4);
        x *= times_;
        std::memcpy(out + i * 4, &x, 4);
      }
    }
  }
  uint64_t Hash() const override {
    return from_.Hash() + static_cast<uint64_t>(bits_) + (times_ != 0 ? 99 : 0);
  }
  std::span<const std::byte> raw_bytes() const override { return from_.raw_bytes(); }
  int code_bits() const override { return bits_; }
  float times_scale() const override { return times_; }

 private:
  Constant from_;
  int bits_;
  float times_;
};

/// Whole numbers from `least` on times steps, each shared by `each` of them.
class NumbersOfSteps final : public ConstantSource, public BlockSource {
 public:
  NumbersOfSteps(int64_t each, int least) : each_(each), least_(least) {}
  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    for (int64_t i = begin; i < begin + count; ++i, out += 4) {
      const float x = static_cast<float>(Step(i / each_)) * static_cast<float>(Number(i));
      std::memcpy(out, &x, 4);
    }
  }
  uint64_t Hash() const override { return static_cast<uint64_t>(each_ * 1000 + least_); }
  std::span<const std::byte> raw_bytes() const override { return {}; }
  int code_bits() const override { return 0; }
  float times_scale() const override { return 0; }
  int64_t numbers_of_step() const override { return each_; }
  void CopySteps(int64_t begin, int64_t count, Half* steps, int8_t* numbers) const override {
    for (int64_t i = begin; i < begin + count; ++i) *steps++ = Step(i);
    for (int64_t i = begin * each_; i < (begin + count) * each_; ++i) *numbers++ = Number(i);
  }

 private:
  static Half Step(int64_t i) { return Half(1e-3F + 1e-4F * static_cast<float>(i * 7 % 13)); }
  int8_t Number(int64_t i) const { return static_cast<int8_t>(least_ + i * 37 % 64); }

  int64_t each_;
  int least_;
};

struct Blocks {
  int bits, block;
  std::string_view scales = "f16";
  float times = 0;    // the minima are so many scales; 0: noise
  int64_t steps = 0;  // blocks that share a step; 0: scales are noise
};

inline std::shared_ptr<const Constant> Known(const Constant& from, int bits, float times) {
  return std::make_shared<const Constant>(Constant::Generated(
      from.dtype(), from.shape(), std::make_shared<KnownBlocks>(from, bits, times)));
}

/// Those that kernels take apart.
inline constexpr Blocks kBlockForms[] = {{5, 32},
                                         {5, 32, "f16", -16},
                                         {5, 32, "f32"},
                                         {6, 16, "f32", -32},
                                         {6, 32},
                                         {8, 32, "f16", -128},
                                         {4, 32, "f16", -8},
                                         {4, 16, "f32", -4},
                                         {4, 32, "f32", 0, 3},
                                         {5, 32, "f32", 0, 6},
                                         {6, 16, "f32", -32, 6},
                                         {4, 16, "f32", -4, 12},
                                         {8, 32, "f32", 0, 2},
                                         {4, 16, "f32", 0, 4}};

struct BlockConstantIds {
  ir::ValueId codes, scales, minima;
};

/// Constants of `graph` become such as the form says.
inline void MakeKnown(const Blocks& form, ir::Graph& graph, const BlockConstantIds& ids) {
  ir::Value& codes = graph.value(ids.codes);
  codes.constant = Known(*codes.constant, form.bits, 0);
  for (const ir::ValueId id : {ids.scales, ids.minima}) {  // scales of both signs
    auto source = std::make_shared<NumbersOfSteps>(form.steps, id == ids.scales ? -20 : -63);
    ir::Value& value = graph.value(id);
    if (form.steps > 0)
      value.constant = std::make_shared<const Constant>(
          Constant::Generated(DType::kF32, value.constant->shape(), std::move(source)));
  }
  if (form.times != 0)
    graph.value(ids.minima).constant = Known(*graph.value(ids.scales).constant, 0, form.times);
}

}  // namespace fettle::kernels
