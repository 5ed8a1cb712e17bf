#include "runtime/package/section_list.h"

#include <array>

#include "base/hash.h"
#include "runtime/package/format.h"
#include "tensor/packed_rows.h"

namespace fettle::runtime::package {

Result<uint32_t> SectionList::Add(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner) {
  const auto [known, is_new] = known_.try_emplace({bytes.data(), bytes.size()}, 0);
  if (!is_new) return known->second;
  ASSIGN_OR_RETURN(known->second, AddOpened([held = Held{bytes, std::move(owner)}]() {
                     return Result<Held>(held);
                   }));
  return known->second;
}

Result<uint32_t> SectionList::Add(const Constant& constant) {
  if (constant.source() == nullptr)
    return Add(constant.bytes(), std::make_shared<const Constant>(constant));
  return AddOpened([constant]() -> Result<Held> {
    ASSIGN_OR_RETURN(const Tensor elements, constant.ToTensor());
    return Held{elements.bytes(), elements.storage()};
  });
}

Result<uint32_t> SectionList::AddNibbles(const Constant& constant) {
  return AddOpened([constant]() -> Result<Held> {
    ASSIGN_OR_RETURN(const Tensor packed, PackNibbles(constant));
    return Held{packed.bytes(), packed.storage()};
  });
}

Result<uint32_t> SectionList::AddCompact(const Constant& constant, const CompactLayout& layout) {
  return AddOpened([constant, layout]() -> Result<Held> {
    ASSIGN_OR_RETURN(const Tensor packed, PackCompact(constant, layout));
    return Held{packed.bytes(), packed.storage()};
  });
}

Result<uint32_t> SectionList::AddOpened(Open open) {
  ASSIGN_OR_RETURN(const Held held, open());
  ranges_.push_back({end_, held.bytes.size(), HashBytes(held.bytes)});
  end_ += SectionSpan(held.bytes.size());
  open_.push_back(std::move(open));
  return static_cast<uint32_t>(ranges_.size() - 1);
}

Status SectionList::Write(FileWriter& file) const {
  static constexpr std::array<std::byte, 2 * kAlignment> kZeros = {};
  for (size_t i = 0; i < ranges_.size(); ++i) {
    ASSIGN_OR_RETURN(const Held held, open_[i]());
    RETURN_IF_ERROR(file.Write(held.bytes));
    const uint64_t zeros = SectionSpan(ranges_[i].bytes) - ranges_[i].bytes;
    RETURN_IF_ERROR(file.Write(std::span(kZeros).first(zeros)));
  }
  return OkStatus();
}

}  // namespace fettle::runtime::package
