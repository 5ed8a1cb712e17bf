#include "device/cuda/linked.h"

#include <elf.h>

#include <cstring>
#include <functional>

#include "device/cuda/module_text.h"

namespace fettle::cuda {
namespace {

constexpr int kInputPtx = 1;  // CU_JIT_INPUT_PTX

/// A CUlinkState.
class Linking {
 public:
  explicit Linking(const Api& api) : api_(api) {}
  ~Linking() {
    if (link_ != nullptr) api_.LinkDestroy(link_);
  }
  Linking(const Linking&) = delete;
  Linking& operator=(const Linking&) = delete;

  /// The bytes live as long as this.
  fettle::Result<std::span<const std::byte>> Of(const std::string& ptx) {
    void* made = nullptr;
    size_t size = 0;
    RETURN_IF_ERROR(StatusOf(api_, api_.LinkCreate(0, nullptr, nullptr, &link_), "linking"));
    RETURN_IF_ERROR(StatusOf(api_,
                             api_.LinkAddData(link_, kInputPtx, ptx.c_str(), ptx.size() + 1,
                                              "program", 0, nullptr, nullptr),
                             "compiling PTX"));
    RETURN_IF_ERROR(StatusOf(api_, api_.LinkComplete(link_, &made, &size), "linking"));
    return std::span(static_cast<const std::byte*>(made), size);
  }

 private:
  const Api& api_;
  Link link_ = nullptr;
};

/// The sections of an ELF file. Nothing is read outside of it.
class Sections {
 public:
  explicit Sections(std::span<std::byte> elf) : elf_(elf) {
    if (elf.size() < sizeof(head_)) return;
    std::memcpy(&head_, elf.data(), sizeof(head_));
    const bool is_elf = std::memcmp(head_.e_ident, ELFMAG, SELFMAG) == 0 &&
                        head_.e_ident[EI_CLASS] == ELFCLASS64 &&
                        head_.e_shentsize == sizeof(Elf64_Shdr);
    if (!is_elf || head_.e_shoff > elf.size() ||
        (elf.size() - head_.e_shoff) / sizeof(Elf64_Shdr) < head_.e_shnum)
      return;
    count_ = head_.e_shnum;
    if (head_.e_shstrndx < count_) names_ = Of(head_.e_shstrndx);
  }

  Elf64_Shdr Of(size_t index) const {
    Elf64_Shdr section;
    std::memcpy(&section, At(index), sizeof(section));
    return section;
  }
  void Put(size_t index, const Elf64_Shdr& section) {
    std::memcpy(At(index), &section, sizeof(section));
  }
  /// The number of sections where there is none of that name.
  size_t Find(std::string_view name) const {
    size_t index = 0;
    while (index < count_ && NameOf(index) != name) ++index;
    return index;
  }
  size_t count() const { return count_; }

 private:
  std::byte* At(size_t index) const {
    return elf_.data() + head_.e_shoff + index * sizeof(Elf64_Shdr);
  }
  std::string_view NameOf(size_t index) const {
    const uint64_t at = names_.sh_offset + Of(index).sh_name;
    if (at >= elf_.size()) return {};
    const auto* begin = reinterpret_cast<const char*>(elf_.data()) + at;
    return {begin, strnlen(begin, elf_.size() - at)};
  }

  std::span<std::byte> elf_;
  Elf64_Ehdr head_{};
  Elf64_Shdr names_{};
  size_t count_ = 0;
};

}  // namespace

Status GrowLocalMemory(std::span<std::byte> elf,
                       const std::map<std::string, int64_t, std::less<>>& bytes) {
  Sections sections(elf);
  for (const auto& [function, more] : bytes) {
    if (more <= 0) continue;
    const size_t index = sections.Find(".nv.shared." + function);
    if (index == sections.count())
      return Unsupported("machine code without local memory of '{}'", function);
    Elf64_Shdr section = sections.Of(index);
    if (section.sh_type != SHT_NOBITS) return Unsupported("local memory of '{}' in bits", function);
    section.sh_size += static_cast<uint64_t>(more);
    sections.Put(index, section);
  }
  return OkStatus();
}

fettle::Result<std::vector<std::byte>> Linked(std::string_view ptx, const PrimaryContext& context) {
  ASSIGN_OR_RETURN(ModuleText text, LinkTextOf(ptx));
  const PrimaryContext::Scope scope(context);
  Linking linking(context.api());
  ASSIGN_OR_RETURN(const std::span<const std::byte> made, linking.Of(text.ptx));
  std::vector<std::byte> elf(made.begin(), made.end());
  for (auto& [function, bytes] : text.dynamic_bytes) bytes -= bytes > 0 ? kStandInBytes : 0;
  RETURN_IF_ERROR(GrowLocalMemory(elf, text.dynamic_bytes));
  return elf;
}

}  // namespace fettle::cuda
