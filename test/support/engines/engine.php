<?php
while (($line = fgets(STDIN)) !== false) {
    [$pattern, $text] = array_map('base64_decode', explode(' ', rtrim($line, "\n")));
    foreach (['%s', '\A(?:%s)', '\A(?:%s)\z'] as $way) {
        echo preg_match('~' . str_replace('~', '\~', sprintf($way, $pattern)) . '~', $text);
    }
    echo "\n";
}
