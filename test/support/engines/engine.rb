STDIN.each_line(chomp: true) do |line|
  pattern, text = line.split(" ", -1).map { |part| part.unpack1("m").force_encoding("UTF-8") }
  ways = [pattern, "\\A(?:#{pattern})", "\\A(?:#{pattern})\\z"]
  puts ways.map { |way| Regexp.new(way).match?(text) ? 1 : 0 }.join
end
