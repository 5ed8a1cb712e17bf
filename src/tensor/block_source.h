// Constants over blocks of codes of few bits, each with a scale and a minimum.
#pragma once

#include "tensor/tensor.h"

namespace fettle {

/// What a ConstantSource is besides, where it reads one part of such blocks. Thread-safe.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Of codes in bytes: how many bits hold them; 0 for other parts.
  virtual int code_bits() const = 0;
  /// Of minima: what times each block's scale is its minimum, exactly; 0 where nothing is, and for
  /// other parts.
  virtual float times_scale() const = 0;
  /// Of scales and minima that are whole numbers of 8 bits times a step: how many of them share it.
  /// 0 where they are not that, and for other parts.
  virtual int64_t numbers_of_step() const { return 0; }
  /// Steps [begin, begin + count), and numbers_of_step() numbers for each.
  virtual void CopySteps(int64_t /*begin*/, int64_t /*count*/, Half* /*steps*/,
                         int8_t* /*numbers*/) const {}
  /// Codes [begin, begin + count), whole blocks of 32, two in a byte: byte j of a block has code j
  /// in its low half, and code j + 16 in its high one. False where they do not lie so.
  virtual bool CopyNibbles(int64_t /*begin*/, int64_t /*count*/, std::byte* /*out*/) const {
    return false;
  }
};

/// Null, or what reads `constant`.
inline const BlockSource* BlocksOf(const Constant& constant) {
  return dynamic_cast<const BlockSource*>(constant.source());
}

/// Bits that hold the codes of `constant`, of bytes; 8 where that is not known.
inline int CodeBitsOf(const Constant& constant) {
  const BlockSource* source = BlocksOf(constant);
  return source == nullptr || source->code_bits() == 0 ? 8 : source->code_bits();
}

/// What times the scales the minima in `constant` are; 0 where that is not known.
inline float TimesScaleOf(const Constant& constant) {
  const BlockSource* source = BlocksOf(constant);
  return source == nullptr ? 0 : source->times_scale();
}

/// Null, or what reads `constant`, whose elements are whole numbers times steps.
inline const BlockSource* StepsOf(const Constant& constant) {
  const BlockSource* source = BlocksOf(constant);
  return source == nullptr || source->numbers_of_step() == 0 ? nullptr : source;
}

}  // namespace fettle
