#!/usr/bin/perl
# The chain of dolly 0.57, written anew from what its source does: how it begins, what it measures, and how
# it ends.
#
#   dolly.pl head FILE NEXT DATA CONTROL [DISK]     sends FILE to NEXT, and reports the time of the transfer
#   dolly.pl node FILE NEXT DATA CONTROL [DISK]     keeps FILE, and sends on to NEXT ("-" for the last)
#
# A node accepts a connection for data and one for control, then opens both to the next node, which it tries
# each second. The clock runs from the first byte until the last is sent. Then each node closes its file and
# calls sync(2), and the head waits until eight bytes have come back from the last node through all others.
# DISK is the rate in bytes per second of the disk that takes what was written before: a kernel of that time
# keeps what is younger than 30 s (bdflush) until it is told to sync.
use strict;
use warnings;
use Socket;
use Time::HiRes qw(time sleep);

use constant BLOCK => 4096;

my ($role, $file, $next, $data_port, $control_port, $disk) = @ARGV;

sub listening {
    my ($port) = @_;
    socket(my $listener, PF_INET, SOCK_STREAM, 6) or die "socket: $!\n";
    setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1) or die "setsockopt: $!\n";
    bind($listener, pack_sockaddr_in($port, INADDR_ANY)) && listen($listener, 1) or die "listen: $!\n";
    return $listener;
}

sub connected {
    my ($port) = @_;
    while (1) {
        socket(my $link, PF_INET, SOCK_STREAM, 6) or die "socket: $!\n";
        return $link if connect($link, pack_sockaddr_in($port, inet_aton($next)));
        die "connect to $next: $!\n" unless $!{ECONNREFUSED};
        sleep(1);
    }
}

sub put {
    my ($to, $data) = @_;
    for (my $done = 0; $done < length $data;) {
        $done += syswrite($to, $data, length($data) - $done, $done) // die "write: $!\n";
    }
}

# Reads `length` bytes, or what there is before the end.
sub get {
    my ($from, $length) = @_;
    my $data = "";
    while (length $data < $length) {
        my $count = sysread($from, $data, $length - length $data, length $data) // die "read: $!\n";
        last if $count == 0;
    }
    return $data;
}

# Writes what is in memory to the disk.
sub synced {
    my ($bytes) = @_;
    my $began = time;
    system("sync", $file) == 0 or die "sync failed\n";
    my $left = defined $disk ? $bytes / $disk - (time - $began) : 0;
    sleep($left) if $left > 0;
}

my ($in, $control_in, $out, $control_out);
if ($role eq "node") {
    my ($data, $control) = (listening($data_port), listening($control_port));
    accept($in, $data) && accept($control_in, $control) or die "accept: $!\n";
}
if ($next ne "-") {
    ($out, $control_out) = (connected($data_port), connected($control_port));
}
# The ring is built when the last node has said so.
if ($role eq "node") {
    put($control_in, $next eq "-" ? "ready\n" : get($control_out, 6));
} else {
    get($control_out, 6);
}
open(my $kept, $role eq "head" ? "<" : ">", $file) or die "$file: $!\n";
my ($began, $bytes) = (time, 0);
while (length(my $block = get($role eq "head" ? $kept : $in, BLOCK))) {
    put($kept, $block) if $role eq "node";
    put($out, $block) if $out;
    $bytes += length $block;
}
my $took = time - $began;
shutdown($out, 1) if $out;
close($kept) or die "close: $!\n";
synced($role eq "node" ? $bytes : 0);
my $all = $out ? get($control_out, 8) : pack("Q", $bytes);
die "the next node ended early\n" unless length $all == 8;
put($control_in, $all) if $control_in;
if ($role eq "head") {
    die "the last node has other bytes\n" unless unpack("Q", $all) == $bytes;
    printf "Time: %.6f\nMBytes/s: %.3f\n", $took, $bytes / 1e6 / $took;
}
