// Tables of replacements in tokenizer.json files.
#include "language/tokens/charsmap.h"

#include <gtest/gtest.h>

#include <cstring>

namespace fettle::language {
namespace {

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (count += 8; count >= 6;) text += kNames[bits >> (count -= 6) & 63];
  }
  if (count > 0) text += kNames[bits << (6 - count) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

/// Replacements in a trie whose nodes have 256 units each for their children.
std::string MapOf(const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::vector<uint32_t> units(512, 0);
  units[0] = 256 << 10;
  std::string texts;
  for (const auto& [key, value] : pairs) {
    uint32_t at = 0;
    for (char c : key) {
      const auto byte = static_cast<uint8_t>(c);
      at = (at ^ units[at] >> 10) ^ byte;
      if (units[at] != 0) continue;
      units[at] = (at ^ static_cast<uint32_t>(units.size())) << 10 | byte;
      units.resize(units.size() + 256);
    }
    units[at ^ units[at] >> 10] = static_cast<uint32_t>(texts.size()) | 1U << 31;
    units[at] |= 1U << 8;
    texts.append(value).push_back('\0');
  }
  const auto size = static_cast<uint32_t>(units.size() * 4);
  std::string bytes(4 + size, '\0');
  std::memcpy(bytes.data(), &size, 4);
  std::memcpy(bytes.data() + 4, units.data(), size);
  return Base64(bytes + texts);
}

TEST(CharsMapTest, ReplacesGraphemesAndCharacters) {
  const auto map = CharsMap::Read(
      MapOf({{"a", "bb"}, {"e\xcc\x81", "E"}, {"\xef\xac\x81", "fi"}, {"\xcc\x82", ""}}));
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(map->Replaced("xay"), "xbby");
  EXPECT_EQ(map->Replaced("e\xcc\x81"
                          "e"),
            "Ee");
  // A grapheme becomes what its shortest known beginning becomes; longer ones are characters.
  EXPECT_EQ(map->Replaced("a\xcc\x81"), "bb");
  EXPECT_EQ(map->Replaced("a\xcc\x81\xcc\x81\xcc\x82"), "bb\xcc\x81\xcc\x81");
  EXPECT_EQ(map->Replaced("\xef\xac\x81x"), "fix");
  EXPECT_EQ(map->Replaced(""), "");
}

TEST(CharsMapTest, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string(), std::string("AAAA"), std::string("a b c d "),
        Base64(std::string("\x08\0\0\0abcd", 8)), Base64(std::string("\x04\0\0\0\0\0\0\0\xff", 9))})
    EXPECT_EQ(CharsMap::Read(text).status().code(), StatusCode::kInvalidModel) << text;
}

TEST(CharsMapTest, ArraysThatLeadNowhereAreSafe) {
  // The children of its one node lie far behind the array, and its text between two bytes.
  std::string bytes("\x04\0\0\0\0\xfc\xff\x7f", 8);
  EXPECT_EQ(CharsMap::Read(Base64(bytes))->Replaced("abc"), "abc");
  for (uint32_t seed = 1; seed < 400; ++seed) {
    std::string random("\x40\0\0\0", 4);
    for (uint32_t i = 0, x = seed; i < 64; ++i)
      random += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    const auto map = CharsMap::Read(Base64(random + "\xc3\xa4\0b"));
    ASSERT_TRUE(map.ok());
    map->Replaced("The quick \xc3\xa4 brown\n");
  }
}

}  // namespace
}  // namespace fettle::language
