# The expressions of Perl are also those of PHP, R and other programs with PCRE.
use strict;
use warnings;

while (my $line = <STDIN>) {
    chomp $line;
    my ($pattern, $text) = map { my $part = pack 'H*', $_; utf8::decode($part); $part } split / /, $line, -1;
    print map({ $text =~ $_ ? 1 : 0 } qr/$pattern/, qr/\A(?:$pattern)/, qr/\A(?:$pattern)\z/), "\n";
}
