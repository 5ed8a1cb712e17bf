// Local memory of machine code that OpenCL's driver is to load.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/cuda/linked.h"

namespace fettle::cuda {
namespace {

/// An ELF file of a section `name` of 128 bytes, and of the names.
std::vector<std::byte> ElfOf(const std::string& name, uint32_t type = SHT_NOBITS) {
  const std::string names = std::string(1, '\0') + name + '\0';
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_shoff = sizeof(head);
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 2;
  head.e_shstrndx = 1;
  Elf64_Shdr sections[2]{};
  sections[0].sh_name = 1;
  sections[0].sh_type = type;
  sections[0].sh_size = 128;
  sections[1].sh_offset = sizeof(head) + sizeof(sections);
  sections[1].sh_size = names.size();
  std::vector<std::byte> elf(sizeof(head) + sizeof(sections) + names.size());
  std::memcpy(elf.data(), &head, sizeof(head));
  std::memcpy(elf.data() + sizeof(head), sections, sizeof(sections));
  std::memcpy(elf.data() + sizeof(head) + sizeof(sections), names.data(), names.size());
  return elf;
}

uint64_t SizeIn(const std::vector<std::byte>& elf) {
  Elf64_Shdr section;
  std::memcpy(&section, elf.data() + sizeof(Elf64_Ehdr), sizeof(section));
  return section.sh_size;
}

TEST(GrowLocalMemory, OfTheFunctionsThatNeedMore) {
  std::vector<std::byte> elf = ElfOf(".nv.shared.a");
  ASSERT_TRUE(GrowLocalMemory(elf, {{"a", 50000}, {"b", 0}}).ok());
  EXPECT_EQ(SizeIn(elf), 50128);
}

TEST(GrowLocalMemory, RefusesWhatHasNone) {
  std::vector<std::byte> elf = ElfOf(".nv.shared.ab");
  EXPECT_EQ(GrowLocalMemory(elf, {{"a", 50000}}).code(), StatusCode::kUnsupported);
  std::vector<std::byte> bits = ElfOf(".nv.shared.a", SHT_PROGBITS);
  EXPECT_EQ(GrowLocalMemory(bits, {{"a", 50000}}).code(), StatusCode::kUnsupported);
  EXPECT_EQ(SizeIn(bits), 128);
}

TEST(GrowLocalMemory, ReadsNothingBehindAFileThatWasCut) {
  const std::vector<std::byte> whole = ElfOf(".nv.shared.a");
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    (void)GrowLocalMemory(part, {{"a", 1}});
  }
  std::vector<std::byte> shifted = whole;
  for (size_t i = 0; i < sizeof(Elf64_Ehdr); ++i) {
    shifted[i] ^= std::byte{0xff};
    (void)GrowLocalMemory(shifted, {{"a", 1}});
    shifted[i] = whole[i];
  }
}

}  // namespace
}  // namespace fettle::cuda
