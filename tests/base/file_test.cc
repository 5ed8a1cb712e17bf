#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "base/hash.h"
#include "tests/test_folder.h"

namespace fettle {
namespace {

class FileTest : public testing::Test {
 protected:
  std::string Path(const char* name) const { return folder_.file(name); }
  TestFolder folder_;
};

TEST_F(FileTest, WritesWholeFilesAndMapsThem) {
  const std::string text(10000, 'x');
  ASSERT_TRUE(WriteTextFile(Path("a"), text).ok());
  const auto file = MappedFile::Open(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ((*file)->bytes().size(), text.size());
  EXPECT_EQ(std::memcmp((*file)->bytes().data(), text.data(), text.size()), 0);
}

TEST_F(FileTest, DroppedPagesReadTheSameAgain) {
  const std::string text(1 << 20, 'y');
  ASSERT_TRUE(WriteTextFile(Path("a"), text).ok());
  const auto file = MappedFile::Open(Path("a"));
  ASSERT_TRUE(file.ok());
  DropMappedPages((*file)->bytes().subspan(5, 500000));
  EXPECT_EQ(std::memcmp((*file)->bytes().data(), text.data(), text.size()), 0);
}

TEST_F(FileTest, PiecesOfAMappedFileHashLikeTheWhole) {
  std::string text((5 << 20) + 77, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 7);
  ASSERT_TRUE(WriteTextFile(Path("a"), text).ok());
  const auto file = MappedFile::Open(Path("a"));
  ASSERT_TRUE(file.ok());
  for (const size_t begin : {size_t{0}, size_t{3}, size_t{1} << 20}) {
    const auto part = (*file)->bytes().subspan(begin);
    EXPECT_EQ(HashMapped(part), HashBytes(part));
  }
}

TEST_F(FileTest, MemoryThatIsNotMappedIsLeftAlone) {
  const std::string text(1 << 20, 'z');
  DropMappedPages(std::as_bytes(std::span(text.data(), text.size())));
  EXPECT_EQ(text, std::string(1 << 20, 'z'));
}

TEST_F(FileTest, FailuresNameThePathAndLeaveNothing) {
  EXPECT_EQ(MappedFile::Open(Path("missing")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(folder_.path().string()).status().code(), StatusCode::kIo);
  const Status status = WriteTextFile(Path("no/such/folder"), "text");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("no/such/folder"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(FileTest, ReplacingAFileKeepsTheOldOneOnFailure) {
  ASSERT_TRUE(WriteTextFile(Path("a"), "old").ok());
  std::filesystem::create_directory(folder_.file("b"));
  std::filesystem::create_directory(folder_.file("b/c"));
  EXPECT_FALSE(WriteTextFile(Path("b"), "new").ok());  // a folder with contents cannot be replaced
  EXPECT_TRUE(std::filesystem::is_directory(folder_.file("b/c")));
  ASSERT_TRUE(WriteTextFile(Path("a"), "new").ok());
  EXPECT_EQ(std::filesystem::file_size(Path("a")), 3u);
}

TEST_F(FileTest, DevicesAndPipesAreWrittenToAndStay) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteTextFile(pipe, "text").ok());
  char read[4];
  EXPECT_EQ(::read(reader, read, 4), 4);
  EXPECT_EQ(std::string(read, 4), "text");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  if (std::filesystem::exists("/dev/full")) {
    std::filesystem::create_symlink("/dev/full", Path("full"));
    EXPECT_EQ(WriteTextFile(Path("full"), "text").code(), StatusCode::kIo);
    EXPECT_TRUE(std::filesystem::is_symlink(Path("full")));
  }
}

TEST_F(FileTest, LinksKeepLeadingToTheFile) {
  ASSERT_TRUE(WriteTextFile(Path("a"), "old").ok());
  std::filesystem::create_symlink("a", Path("link"));
  ASSERT_TRUE(WriteTextFile(Path("link"), "longer").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(std::filesystem::file_size(Path("a")), 6u);
}

}  // namespace
}  // namespace fettle
