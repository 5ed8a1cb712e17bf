#include "device/opencl/program/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "tests/test_folder.h"

namespace fettle {
namespace {

namespace fs = std::filesystem;
using Kind = ProgramCache::Kind;

std::vector<std::byte> Payload(size_t size, uint32_t seed = 1) {
  std::minstd_rand random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::string KeyOf(int i) { return ProgramKey(std::to_string(i), "", ""); }

class ProgramCacheTest : public testing::Test {
 protected:
  std::shared_ptr<ProgramCache> Open(int64_t most_bytes = 1 << 20) const {
    return ProgramCache::Open({.folder = folder_.path(), .most_bytes = most_bytes}).value();
  }
  std::string FileOf(const std::string& key) const { return folder_.file(key + ".program"); }
  std::string Content(const std::string& key) const {
    std::ifstream file(FileOf(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Overwrite(const std::string& key, const std::string& content) const {
    std::ofstream(FileOf(key), std::ios::binary) << content;
  }

  TestFolder folder_;
};

TEST(ProgramKey, ChangesWithEveryPartOfIt) {
  const std::string key = ProgramKey("source", "-D A", "device");
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(key, ProgramKey("source", "-D A", "device"));
  EXPECT_NE(key, ProgramKey("sourc", "-D A", "device"));
  EXPECT_NE(key, ProgramKey("source", "-D B", "device"));
  EXPECT_NE(key, ProgramKey("source", "-D A", "device, driver 2"));
  EXPECT_NE(ProgramKey("ab", "c", "d"), ProgramKey("a", "bc", "d"));
}

/// Sets a variable, and sets it back at the end of its scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(ProgramFolder, IsBesideTheTuningDatabase) {
  EXPECT_EQ(ProgramFolder("here"), "here/programs");
  const Variable home("HOME", "/home/user");
  {
    const Variable cache("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(ProgramFolder(""), "/cache/fettle/programs");
  }
  const Variable no_cache("XDG_CACHE_HOME", "");
  EXPECT_EQ(ProgramFolder(""), "/home/user/.cache/fettle/programs");
}

TEST(UserProgramCache, IsWhereItIsAskedForOrNowhere) {
  const TestFolder folder;
  const auto cache = OpenUserProgramCache(folder.path());
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->folder(), folder.file("programs"));
  const Variable home("HOME", ""), no_cache("XDG_CACHE_HOME", "");
  EXPECT_EQ(OpenUserProgramCache(""), nullptr);
}

TEST_F(ProgramCacheTest, FindsWhatWasPutInAnotherCache) {
  const auto binary = Payload(1000), log = Payload(10);
  Open()->Put(KeyOf(1), Kind::kBinary, binary);
  Open()->Put(KeyOf(2), Kind::kFailure, log);
  const auto cache = Open();
  const auto first = cache->Find(KeyOf(1)), second = cache->Find(KeyOf(2));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->kind, Kind::kBinary);
  EXPECT_EQ(first->payload, binary);
  EXPECT_EQ(second->kind, Kind::kFailure);
  EXPECT_EQ(second->payload, log);
  EXPECT_FALSE(cache->Find(KeyOf(3)));
}

TEST_F(ProgramCacheTest, RemembersTheFirstLaunch) {
  const auto cache = Open();
  cache->Put(KeyOf(1), Kind::kBinary, Payload(100));
  EXPECT_FALSE(cache->Find(KeyOf(1))->launched);
  cache->MarkLaunched(KeyOf(1));
  EXPECT_TRUE(Open()->Find(KeyOf(1))->launched);
  cache->MarkLaunched(KeyOf(2));  // never put
  EXPECT_FALSE(cache->Find(KeyOf(2)));
}

TEST_F(ProgramCacheTest, DamageAtAnyPlaceIsNoticedOrHarmless) {
  const auto cache = Open();
  const auto binary = Payload(3000);
  cache->Put(KeyOf(1), Kind::kBinary, binary);
  const std::string whole = Content(KeyOf(1));
  std::minstd_rand random(7);
  int noticed = 0;
  for (int i = 0; i < 500; ++i) {
    std::string damaged = whole;
    const size_t at = random() % damaged.size();
    if (i % 2 == 0) damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    if (i % 2 == 1) damaged.resize(at);
    Overwrite(KeyOf(1), damaged);
    const auto entry = cache->Find(KeyOf(1));
    if (entry) {
      ASSERT_EQ(entry->payload, binary) << "place " << at;
    } else {
      ++noticed;
      ASSERT_FALSE(fs::exists(FileOf(KeyOf(1)))) << "place " << at;
    }
  }
  EXPECT_GE(noticed, 490);  // the others fell on the note of the first launch
  EXPECT_EQ(cache->statistics().damaged, noticed);
}

TEST_F(ProgramCacheTest, AnEntryUnderAnotherNameIsNotTaken) {
  const auto cache = Open();
  cache->Put(KeyOf(1), Kind::kBinary, Payload(100));
  fs::copy(FileOf(KeyOf(1)), FileOf(KeyOf(2)));
  EXPECT_FALSE(cache->Find(KeyOf(2)));
}

TEST_F(ProgramCacheTest, EvictsTheLeastRecentlyUsed) {
  const auto cache = Open(10000);
  for (int i = 0; i < 9; ++i) {
    cache->Put(KeyOf(i), Kind::kBinary, Payload(1000));
    // File times may be as coarse as a second.
    fs::last_write_time(FileOf(KeyOf(i)),
                        fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  EXPECT_TRUE(cache->Find(KeyOf(0)));  // now the latest
  cache->Put(KeyOf(9), Kind::kBinary, Payload(1000));
  EXPECT_TRUE(cache->Find(KeyOf(0)));
  EXPECT_FALSE(cache->Find(KeyOf(1)));
  EXPECT_TRUE(cache->Find(KeyOf(9)));
  int64_t left = 0;
  for (const auto& file : fs::directory_iterator(folder_.path()))
    if (file.is_regular_file()) left += static_cast<int64_t>(file.file_size());
  EXPECT_LE(left, 10000);
  EXPECT_GT(cache->statistics().evicted, 0);
}

TEST_F(ProgramCacheTest, EvictionCountsWhatOthersPutThere) {
  {
    const auto other = Open();
    for (int i = 0; i < 20; ++i) other->Put(KeyOf(i), Kind::kBinary, Payload(1000));
  }
  const auto cache = Open(5000);
  cache->Put(KeyOf(20), Kind::kBinary, Payload(1000));
  EXPECT_GE(cache->statistics().evicted, 16);
}

TEST_F(ProgramCacheTest, RemovesWhatDeadProcessesLeft) {
  const std::string left = FileOf(KeyOf(1)) + ".a1b2c3", recent = FileOf(KeyOf(2)) + ".a1b2c3";
  std::ofstream(left) << "half";
  std::ofstream(recent) << "half";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  Open()->Put(KeyOf(3), Kind::kBinary, Payload(10));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(recent));
}

TEST_F(ProgramCacheTest, ThreadsAndCachesShareAFolder) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto cache = Open(20000);
      for (int i = 0; i < 100; ++i) {
        const int key = (i + static_cast<int>(t) * 7) % 20;
        const auto entry = cache->Find(KeyOf(key));
        const auto payload = Payload(1000 + static_cast<size_t>(key), static_cast<uint32_t>(key));
        if (entry && entry->payload != payload) ++wrong;
        if (!entry) cache->Put(KeyOf(key), Kind::kBinary, payload);
      }
      wrong += static_cast<int>(cache->statistics().damaged);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ProgramCacheTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_.file("file")) << "in the way";
  const auto cache = ProgramCache::Open({.folder = folder_.file("file")});
  EXPECT_EQ(cache.status().code(), StatusCode::kIo);
  EXPECT_THAT(cache.status().message(), testing::HasSubstr("/file"));
}

TEST_F(ProgramCacheTest, WhatCannotBeWrittenIsNotKept) {
  const auto cache = Open();
  // A folder in the way of the entry: as good as a full disk, for any user.
  fs::create_directories(FileOf(KeyOf(1)) + "/in the way");
  cache->Put(KeyOf(1), Kind::kBinary, Payload(100));
  EXPECT_FALSE(cache->Find(KeyOf(1)));
  cache->Put(KeyOf(2), Kind::kBinary, Payload(100));
  EXPECT_TRUE(cache->Find(KeyOf(2)));
}

TEST_F(ProgramCacheTest, SaysWhetherAnythingIsKept) {
  EXPECT_FALSE(KeepsPrograms(nullptr));
  EXPECT_FALSE(KeepsPrograms(folder_.path().c_str()));
  const auto cache = OpenUserProgramCache(folder_.path());
  EXPECT_FALSE(KeepsPrograms(folder_.path().c_str()));
  cache->Put(KeyOf(1), Kind::kBinary, Payload(100));
  EXPECT_TRUE(KeepsPrograms(folder_.path().c_str()));
}

}  // namespace
}  // namespace fettle
