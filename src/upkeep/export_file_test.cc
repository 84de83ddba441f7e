#include "upkeep/export_file.h"

#include <fstream>

#include "store/contract_world.h"

namespace sluice::upkeep {
namespace export_file_test {

class ExportFile : public testing::Test {
 protected:
  static TableShape a_table() {
    return {"things", {"number"}, {{"number", ColumnKind::number, false}, {"bytes", ColumnKind::bytes, true}}};
  }
  void write(int row_count = 3) {
    auto writer = ExportWriter::create(path).take();
    ASSERT_TRUE(writer->begin_table(a_table()));
    for (int64_t i = 0; i < row_count; ++i) {
      ASSERT_TRUE(
          writer->add({Cell::of(i - 1), i == 1 ? Cell() : Cell::blob(std::string(1000 * i, static_cast<char>(i)))}));
    }
    ASSERT_TRUE(writer->finish());
  }
  // All that is in it, or what is wrong.
  Result<std::string> read() {
    auto opened = ExportReader::open(path);
    if (!opened) return opened.error();
    auto& reader = *opened.value();
    std::string all;
    for (;;) {
      auto table = reader.next_table();
      if (!table) return table.error();
      if (!table.value()) return all;
      for (;;) {
        auto row = reader.next_row();
        if (!row) return row.error();
        if (row.value() == nullptr) break;
        for (const auto& cell : *row.value()) all.append(std::to_string(cell.number)).append(cell.bytes);
      }
    }
  }
  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace_with(const std::string& other) const { std::ofstream(path, std::ios::binary) << other; }

  store::ScratchFolder folder;
  const std::string path = folder.file("store.export");
};

TEST_F(ExportFile, What_was_written_is_read) {
  write();
  auto reader = ExportReader::open(path).take();
  EXPECT_EQ(reader->next_table().take(), "things");
  const auto* row = reader->next_row().take();
  EXPECT_EQ((*row)[0].number, -1);
  EXPECT_EQ((*row)[1].type, CellType::bytes);
  EXPECT_EQ((*row)[1].bytes, "");
  row = reader->next_row().take();
  EXPECT_TRUE((*row)[1].is_null());
  row = reader->next_row().take();
  EXPECT_EQ((*row)[1].bytes, std::string(2000, '\2'));
  EXPECT_EQ(reader->next_row().take(), nullptr);
  EXPECT_FALSE(reader->next_table().take());
  EXPECT_EQ(reader->row_count(), 3);
}

TEST_F(ExportFile, One_that_is_cut_off_anywhere_is_refused) {
  write();
  const auto whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    replace_with(whole.substr(0, size));
    EXPECT_FALSE(read()) << size;
  }
}

TEST_F(ExportFile, One_with_a_changed_byte_anywhere_is_refused_or_says_the_same) {
  write();
  const auto said = read().take();
  const auto whole = bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x01);
    replace_with(changed);
    const auto result = read();
    EXPECT_TRUE(!result || result.value() == said) << at;
  }
}

TEST_F(ExportFile, What_follows_the_end_is_refused) {
  write();
  const auto whole = bytes();
  replace_with(whole + "x");
  EXPECT_FALSE(read());
  replace_with(whole + whole);
  EXPECT_FALSE(read());
}

TEST_F(ExportFile, It_has_no_name_before_it_is_whole_and_is_never_written_over) {
  {
    auto writer = ExportWriter::create(path).take();
    ASSERT_TRUE(writer->begin_table(a_table()));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  write();
  const auto again = ExportWriter::create(path);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
}

TEST_F(ExportFile, Another_file_and_another_format_are_distinguished_from_damage) {
  replace_with("hello");
  const auto foreign = read();
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().kind, ErrorKind::invalid);
}

}  // namespace export_file_test
}  // namespace sluice::upkeep
